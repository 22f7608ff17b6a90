#version 450
// A matrix of GGUF's bytes to the layout rows16 and back (layout/rows16.h): moves bytes, whatever they mean, an
// invocation a word of what is written. LW_UNPACK: back.
#extension GL_GOOGLE_include_directive : require
layout(local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) readonly restrict buffer From { uint w_words[]; };
layout(std430, set = 0, binding = 3) restrict buffer To { uint y_words[]; };
layout(push_constant) uniform Launch {
  uint words;        // to be written, the last perhaps in part
  uint rows;
  uint row_bytes;
  uint block_bytes;
  uint lead;         // bytes of a block before its words
  uint run;          // blocks whose words stand together
  uint from_at;      // byte of the binding
  uint to_at;        // byte of the binding, a multiple of 4
  uint to_bytes;
  uint groups_x;
} launch;

uint byte_at(uint at) { return (w_words[(launch.from_at + at) >> 2u] >> (8u * ((launch.from_at + at) & 3u))) & 255u; }

uint blocks_of_run(uint first) { return min(launch.run, launch.row_bytes / launch.block_bytes - first); }

// The byte of the packed matrix that byte `at` of the raw one is.
uint packed_place(uint at) {
  uint row = at / launch.row_bytes;
  uint in_row = at % launch.row_bytes;
  uint block = in_row / launch.block_bytes;
  uint byte = in_row % launch.block_bytes;
  uint words = launch.block_bytes / 4u;
  uint beside = launch.block_bytes % 4u;
  uint first = block / launch.run * launch.run;
  uint begin = (row / 16u * launch.row_bytes + first * launch.block_bytes) * 16u;
  uint in_words = byte - launch.lead;  // wraps to a large number before the words
  if (in_words < 4u * words) {
    return begin + (((block - first) * words + in_words / 4u) * 16u + row % 16u) * 4u + in_words % 4u;
  }
  uint in_beside = launch.lead != 0u ? byte : byte - 4u * words;
  return begin + blocks_of_run(first) * words * 64u + ((block - first) * 16u + row % 16u) * beside + in_beside;
}

// The byte of the raw matrix that byte `at` of the packed one is; past the last row, 0xFFFFFFFF.
uint raw_place(uint at) {
  uint tile = at / (16u * launch.row_bytes);
  uint in_tile = at % (16u * launch.row_bytes);
  uint words = launch.block_bytes / 4u;
  uint beside = launch.block_bytes % 4u;
  uint run_bytes = launch.run * launch.block_bytes * 16u;
  uint first = in_tile / run_bytes * launch.run;
  uint in_run = in_tile % run_bytes;
  uint word_bytes = blocks_of_run(first) * words * 64u;
  uint row, byte;
  if (in_run < word_bytes) {
    uint word = in_run / 64u;
    row = in_run / 4u % 16u;
    byte = (first + word / words) * launch.block_bytes + launch.lead + word % words * 4u + in_run % 4u;
  } else {
    uint rest = in_run - word_bytes;
    row = rest / beside % 16u;
    byte = (first + rest / (16u * beside)) * launch.block_bytes + rest % beside + (launch.lead != 0u ? 0u : 4u * words);
  }
  row += tile * 16u;
  return row < launch.rows ? row * launch.row_bytes + byte : 0xFFFFFFFFu;
}

void main() {
  uint index = (gl_WorkGroupID.y * launch.groups_x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (index >= launch.words) return;
  uint word = 0u;
  uint mask = 0u;
  for (uint i = 0u; i < 4u; ++i) {
    uint at = 4u * index + i;
    if (at >= launch.to_bytes) break;
    mask |= 255u << (8u * i);
#if defined(LW_UNPACK)
    word |= byte_at(packed_place(at)) << (8u * i);
#else
    uint from = raw_place(at);
    if (from != 0xFFFFFFFFu) word |= byte_at(from) << (8u * i);
#endif
  }
  uint to = (launch.to_at >> 2u) + index;
  // Bytes behind the last aren't ours.
  y_words[to] = mask == 0xFFFFFFFFu ? word : (y_words[to] & ~mask) | word;
}
