// What `lanewise tune` says: a line an entry, what it comes to, and the same as JSON (docs/tuning.md).
#pragma once

#include <string>
#include <vector>

#include "json.h"
#include "tune_run.h"

namespace lanewise::program {

/// The head of a table of entries, and a line of it.
void print_tune_head(Output& out, const TuneDevice& device, const TuneWish& wish);
void print_tune_entry(Output& out, const TuneEntry& entry);
void print_tune_summary(Output& out, const TuneWish& wish, const TuneOutcome& outcome);

Json to_json(const tune::Fingerprint& fingerprint);
Json tune_json(const TuneDevice& device, const std::string& device_name, const std::string& model,
               const std::string& store, const TuneWish& wish, const TuneOutcome& outcome);

}  // namespace lanewise::program
