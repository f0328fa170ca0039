// Hands a trace over to https://ui.perfetto.dev, which is another site that shows traces. The trace
// goes from this window to that one inside the browser; nothing is uploaded.

import { getBytes } from "./api.js";
import { ask } from "./dialog.js";
import { h } from "./dom.js";
import { announce } from "./states.js";

const SITE = "https://ui.perfetto.dev";
const EVERY_MS = 50;
/// The site is loaded over the network before it can answer.
const LONGEST_MS = 60_000;

/// Asks the reader and opens the trace of `profile` (a name) in Perfetto. To be called on the
/// reader's click. Says itself what went wrong; resolves to whether the trace was handed over.
export async function openInPerfetto(profile) {
  const abort = new AbortController();
  const trace = h("p", { role: "status" }, "The trace is being fetched from the daemon …");
  const bytes = fetchTrace(profile, abort.signal, trace);
  const answer = await ask({
    title: "Open in Perfetto",
    confirm: "Open ui.perfetto.dev",
    body: [
      h("p", null, "This opens another site, ", h("code", null, SITE), ", in a new window. The " +
        "trace is handed to that window inside this browser and is not uploaded; the site says " +
        "that it keeps traces in the browser, too."),
      h("p", null, "Without a connection to it, download the trace and open it with any copy of " +
        "Perfetto."), trace],
  });
  if (!answer) {
    abort.abort();
    return false;
  }
  const target = window.open(SITE, "_blank");
  try {
    if (!target) {
      throw new Error("the browser did not open a window: allow this page to open windows, or " +
                      "download the trace and open it there");
    }
    await handOver(target, profile, bytes);
    announce(`The trace of ${profile} is in the Perfetto window.`);
    return true;
  } catch (error) {
    abort.abort();
    announce(`Perfetto did not get the trace of ${profile}: ${error.message}.`, "bad");
    return false;
  }
}

function fetchTrace(profile, signal, said) {
  const bytes = getBytes(`/v1/profiles/${encodeURIComponent(profile)}/trace?format=perfetto`,
                         { signal });
  bytes.then((buffer) => {
    said.textContent = `The trace is ready (${(buffer.byteLength / 2 ** 20).toFixed(1)} MiB).`;
  }, (error) => {
    said.textContent = `The trace could not be fetched: ${error.message}`;
  });
  return bytes;
}

async function handOver(target, profile, bytes) {
  const [buffer] = await Promise.all([bytes, answerOf(target)]);
  const perfetto = { buffer, title: profile, fileName: `${profile}.perfetto-trace` };
  target.postMessage({ perfetto }, SITE, [buffer]);
}

/// Resolves when the window answers PONG, and rejects when it is closed or does not answer.
function answerOf(target) {
  return new Promise((resolve, reject) => {
    const end = (settle, value) => {
      clearInterval(timer);
      window.removeEventListener("message", hear);
      settle(value);
    };
    const hear = (event) => {
      if (event.origin === SITE && event.source === target && event.data === "PONG") end(resolve);
    };
    const begun = Date.now();
    const timer = setInterval(() => {
      if (target.closed) {
        end(reject, new Error("its window was closed"));
      } else if (Date.now() - begun > LONGEST_MS) {
        end(reject, new Error("its window did not answer; check that this browser reaches the " +
                              "site, or download the trace"));
      } else {
        target.postMessage("PING", SITE);
      }
    }, EVERY_MS);
    window.addEventListener("message", hear);
  });
}
