// Requests to the daemon. The token is kept for this tab only; it is sent with each request and is
// part of no address.

const KEPT = "hocket.token";
const base = new URL("./", document.baseURI);
const roles = ["read", "report", "admin"];
let answer = null, known = null;

/// An answer that says what went wrong; `status` is 0 if there was no answer.
export class ApiError extends Error {
  constructor(message, status, code) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
  }
}

export function token() {
  return sessionStorage.getItem(KEPT) ?? "";
}

/// Keeps the token, or forgets it if `text` is empty; whoami is asked again.
export function setToken(text) {
  if (text) {
    sessionStorage.setItem(KEPT, text);
  } else {
    sessionStorage.removeItem(KEPT);
  }
  answer = null;
  known = null;
}

/// Returns the version of this page, which is part of the addresses of its files.
export function pageVersion() {
  return document.querySelector("meta[name=hocket-page]")?.content ?? "";
}

function headers(more) {
  const sent = { ...more };
  // A header can only have these characters; with others no token can be right.
  if (/^[\x21-\x7e]+$/.test(token())) sent.Authorization = `Bearer ${token()}`;
  return sent;
}

async function errorOf(response) {
  let message = `the daemon answered ${response.status} ${response.statusText}`.trim(), code = "";
  try {
    const { error } = JSON.parse(await response.text());
    message = error.message ?? message;
    code = error.code ?? "";
  } catch {
    // Something between the page and the daemon answered, such as a proxy.
  }
  return new ApiError(message, response.status, code);
}

/// Sends a request; the response is a success. Throws ApiError, or AbortError if `signal` ended it.
export async function request(path, { method = "GET", body, signal, accept } = {}) {
  const sent = headers(accept ? { Accept: accept } : {});
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(new URL(path.replace(/^\//, ""), base), {
      method, headers: sent, signal, cache: "no-store", credentials: "omit", redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(
      `No answer from ${base.host}. Check that \`hocket serve\` or \`hocket web\` still runs ` +
      "there and that this machine can reach it; then try again.", 0, "unavailable");
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  if (response.status === 401) {
    window.dispatchEvent(new CustomEvent("hocket-unauthorized", { detail: error }));
  }
  throw error;
}

/// Reads what `read` makes of the body; a connection that breaks in between is a missing answer.
async function bodyOf(response, read) {
  try {
    return await read(response);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The answer broke off or is not what was asked for; try again.", 0,
                       "unavailable");
  }
}

export async function get(path, { signal } = {}) {
  return bodyOf(await request(path, { signal }), (response) => response.json());
}

export async function getText(path, { signal } = {}) {
  return bodyOf(await request(path, { signal }), (response) => response.text());
}

export async function getBytes(path, { signal } = {}) {
  return bodyOf(await request(path, { signal }), (response) => response.arrayBuffer());
}

/// Sends `body` as JSON and returns the answer.
export async function send(method, path, body, { signal } = {}) {
  return bodyOf(await request(path, { method, body, signal }), (response) => response.json());
}

/// Saves the answer as a file. A plain link could not send the token.
export async function download(path, filename, { signal } = {}) {
  const blob = await bodyOf(await request(path, { signal }), (response) => response.blob());
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = filename;
  link.click();
  // The browser needs the blob until it has begun to save it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/// Returns the answer of /v1/whoami, which is asked once per token.
export function who() {
  if (!answer) {
    const asked = get("/v1/whoami");
    answer = asked;
    asked.then((whoami) => {
      if (answer === asked) known = whoami;
    }, () => {
      if (answer === asked) answer = null;
    });
  }
  return answer;
}

/// Returns whether the token's role has the rights of `role`; false until who() is answered, and
/// for all but reading where only a store is served.
export function may(role) {
  if (!known) return false;
  if (known.serves === "store" && role !== "read") return false;
  return roles.indexOf(known.role) >= roles.indexOf(role);
}

/// Returns "daemon", or "store" where nothing is live; "" until who() is answered.
export function serves() {
  return known?.serves ?? "";
}
