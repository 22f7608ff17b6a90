#!/usr/bin/env python3
"""The page of `lanewise report` in a browser: nothing is loaded, nothing fails, every drawing can be read.

usage: check_page.py LANEWISE FOLDER_OF_JSON [--pictures FOLDER]

Headless Chromium (Debian's package chromium-headless-shell or chromium) is driven over the DevTools protocol on two
pipes. The page is shown in both colour schemes at the widths of a telephone and of a desk. The checks are first tried on
a page that has every fault they look for.
"""

import argparse
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
WIDTHS = (390, 1400)
SCHEMES = ("light", "dark")
PATIENCE = 60

# What is wrong with the page as it is laid out. Shapes may end where their drawing does; text is given half a pixel.
LOOK = r"""
(() => {
  const faults = [];
  const seen = element => element.getClientRects().length > 0;
  const inside = (a, b, slack) => a.left >= b.left - slack && a.right <= b.right + slack && a.top >= b.top - slack &&
                                  a.bottom <= b.bottom + slack;
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 &&
                            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  const lum = colour => {
    const c = colour.match(/[\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  };
  const contrast = (a, b) => { const [x, y] = [lum(a), lum(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  let shown = 0, texts = 0;
  for (const svg of document.querySelectorAll('svg')) {
    if (!seen(svg)) continue;
    ++shown;
    const box = svg.getBoundingClientRect();
    const name = svg.querySelector('title')?.textContent ?? '';
    const id = svg.getAttribute('aria-labelledby');
    if (!name || !svg.querySelector('desc')?.textContent) faults.push(`a drawing has no title or description`);
    for (const part of (id ?? 'none').split(' ')) {
      if (!document.getElementById(part)) faults.push(`${name}: nothing has the id ${part}`);
    }
    if (box.width < 200 || box.height < 60) faults.push(`${name}: ${box.width} x ${box.height}`);
    const ticks = [];
    for (const text of svg.querySelectorAll('text')) {
      ++texts;
      const place = text.getBoundingClientRect();
      if (!inside(place, box, 0.5)) faults.push(`${name}: '${text.textContent}' sticks out of its drawing`);
      if (parseFloat(getComputedStyle(text).fontSize) * box.width / svg.viewBox.baseVal.width < 8) {
        faults.push(`${name}: '${text.textContent}' is smaller than 8 pixels`);
      }
      for (const other of ticks) {
        if (overlap(place, other.place)) faults.push(`${name}: '${text.textContent}' lies on '${other.text}'`);
      }
      ticks.push({place, text: text.textContent});
    }
    for (const mark of svg.querySelectorAll('.mark')) {
      const place = mark.getBoundingClientRect();
      if (!inside(place, box, 1)) faults.push(`${name}: a mark sticks out of its drawing`);
    }
  }
  const ids = [...document.querySelectorAll('[id]')].map(each => each.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`two elements have the id ${id}`);
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${innerWidth}`);
  const body = getComputedStyle(document.body);
  if (contrast(body.color, body.backgroundColor) < 7) faults.push(`text has a contrast of ${contrast(body.color, body.backgroundColor)}`);
  for (const series of ['s0', 's1', 's2', 's3', 's4', 's5']) {
    const drawing = document.querySelector('figure svg');
    if (!drawing) { faults.push('no drawing'); break; }
    const mark = document.createElementNS(drawing.namespaceURI, 'circle');
    mark.setAttribute('class', 'fill ' + series);
    drawing.append(mark);
    const ratio = contrast(getComputedStyle(mark).fill, getComputedStyle(drawing.closest('figure')).backgroundColor);
    mark.remove();
    if (!(ratio >= 3)) faults.push(`series ${series} has a contrast of ${ratio}`);
  }
  return {faults: [...new Set(faults)], shown, texts, dark: lum(body.backgroundColor) < 0.2};
})()
"""


class Browser:
    """Chromium, spoken to in messages that a null byte ends, on its descriptors 3 and 4."""

    def __init__(self, program, profile):
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()

        def place():
            # Out of the way of each other first: one of them may be 3 or 4 already.
            reading, writing = os.dup(to_read), os.dup(to_write)
            high = [os.dup2(reading, 40), os.dup2(writing, 41)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        arguments = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                     "--no-first-run", "--disable-background-networking", "--disable-component-update",
                     "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(arguments, preexec_fn=place, close_fds=False,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number = 0
        self.rest = b""
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.page = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.of_page(f"{domain}.enable")

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (EOFError, OSError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)

    def receive(self, deadline):
        while b"\0" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                raise TimeoutError("the browser doesn't answer")
            data = os.read(self.read_end, 1 << 20)
            if not data:
                raise EOFError(f"the browser ended with {self.process.wait()}")
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def of_page(self, method, **parameters):
        return self.call(method, self.page, **parameters)

    def show(self, path, width, scheme):
        self.events.clear()
        self.of_page("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 720)
        self.of_page("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.of_page("Page.navigate", url=Path(path).as_uri())
        deadline = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive(deadline))

    def look(self):
        found = self.of_page("Runtime.evaluate", expression=LOOK, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"]["value"]

    def picture(self, path):
        shot = self.of_page("Page.captureScreenshot", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(shot["data"]))


def faults_of(browser, page, width, scheme):
    browser.show(page, width, scheme)
    found = browser.look()
    faults = list(found["faults"])
    if found["dark"] != (scheme == "dark"):
        faults.append(f"the ground is {'dark' if found['dark'] else 'light'} in the {scheme} scheme")
    for event in browser.events:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent" and parameters["request"]["url"] != Path(page).as_uri():
            faults.append(f"it asks for {parameters['request']['url'][:80]}")
        if method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            faults.append(f"the browser logs: {parameters['entry']['text'][:120]}")
        if method == "Runtime.exceptionThrown" or (
                method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert")):
            faults.append("a script complains")
    return faults, found


PLANTED = """<!DOCTYPE html><meta charset="utf-8"><style>body{background:#888;color:#999}figure{background:#fff}
.s0,.s1,.s2,.s3,.s4,.s5{fill:#eee}</style>
<figure><svg viewBox="0 0 300 100" width="300" height="100" aria-labelledby="gone"><title>planted</title><desc>x</desc>
<text x="280" y="50" font-size="16">sticks out</text><text x="20" y="40">one</text><text x="24" y="42">two</text>
<text x="20" y="80" font-size="4">tiny</text><circle class="mark" cx="0" cy="10" r="9"/></svg></figure>
<svg width="20" height="20"></svg><p id="twice"><p id="twice"><div style="width:3000px">wide</div>
<img src="pixel.png" alt=""><script>console.error("planted"); undefined_function()</script>"""
WANTED = ("sticks out of its drawing", "a mark sticks out", "lies on", "smaller than 8", "nothing has the id gone",
          "no title or description", "20 x 20", "two elements have the id twice", "the page is 3", "text has a contrast",
          "series s0 has a contrast", "it asks for", "the browser logs", "a script complains", "in the dark scheme")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lanewise")
    parser.add_argument("folder")
    parser.add_argument("--pictures", help="keep screenshots there")
    options = parser.parse_args()
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        if os.environ.get("LANEWISE_REQUIRE_BROWSER") == "1":
            sys.exit("no headless browser: install chromium-headless-shell (LANEWISE_REQUIRE_BROWSER=1)")
        print(f"skipped: no browser ({', '.join(BROWSERS)}): ./dev setup installs one")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # its processes may still write
        browser = Browser(program, os.path.join(folder, "profile"))
        try:
            planted = os.path.join(folder, "planted.html")
            Path(planted).write_text(PLANTED)
            found, _ = faults_of(browser, planted, 390, "dark")
            for wanted in WANTED:
                if not any(wanted in fault for fault in found):
                    failed += 1
                    print(f"planted, and not found: {wanted}; found: {found}")
            page = os.path.join(folder, "report.html")
            subprocess.run([options.lanewise, "report", options.folder, "-o", page, "--quiet"], check=True)
            for width in WIDTHS:
                for scheme in SCHEMES:
                    faults, seen = faults_of(browser, page, width, scheme)
                    print(f"{width} pixels, {scheme}: {seen['shown']} drawings, {seen['texts']} texts, {len(faults)} faults")
                    for fault in faults[:20]:
                        print("  " + fault)
                    failed += len(faults) + (seen["shown"] < 3)
                    if options.pictures:
                        browser.picture(os.path.join(options.pictures, f"report-{width}-{scheme}.png"))
        finally:
            browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
