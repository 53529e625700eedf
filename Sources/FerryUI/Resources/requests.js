// Talks to `ferry ui`. The token comes with the printed address, behind the #, so that it is in no request's address.

const KEY = "ferry-token";

/** Takes the token out of the address, so that nobody reads it over a shoulder or copies it with the address. */
function takeToken() {
  const match = /^#token=([0-9a-f]{64})$/.exec(location.hash);
  if (match) {
    localStorage.setItem(KEY, match[1]);
    history.replaceState(null, "", "#/");
  }
  return localStorage.getItem(KEY);
}

let token = takeToken();
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) { token = takeToken(); dispatchEvent(new HashChangeEvent("hashchange")); }
});

export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

function headers(more = {}) {
  return token ? { Authorization: `Bearer ${token}`, ...more } : more;
}

async function refusal(response) {
  const text = await response.text();
  // The token of an earlier start is of no use any more.
  if (response.status === 401) localStorage.removeItem(KEY);
  try {
    const { error } = JSON.parse(text);
    return new Refusal(response.status, error.code, error.message);
  } catch {
    return new Refusal(response.status, "unknown", `The answer was ${response.status}.`);
  }
}

const GONE = "`ferry ui` does not answer. It may have ended: start it again, and open the address it prints.";

async function call(path, options) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", credentials: "omit", redirect: "error", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "gone", GONE);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

/** Asks a question. Lists among the parameters become several of one name. Gives the text too, which tells whether all is as before. */
export async function ask(name, parameters = {}, signal = undefined) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== null && one !== undefined && one !== "") query.append(key, one);
  }
  // An empty part of a key is a part.
  if (Array.isArray(parameters.key)) {
    query.delete("key");
    for (const one of parameters.key) query.append("key", one);
  }
  const suffix = query.size ? `?${query}` : "";
  const response = await call(`/api/${name}${suffix}`, { headers: headers(), signal });
  const text = await response.text();
  return { text, value: JSON.parse(text) };
}

/** Does something. */
export async function act(name, body) {
  const response = await call(`/api/${name}`, {
    method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body),
  });
  return response.json();
}

/**
 * Hears of news until it is stopped. EventSource cannot send the token, so that the events are read here:
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function listen({ onNews, onOpen, onLoss }) {
  let controller = new AbortController();
  let isStopped = false;
  let wait = 500;
  async function once() {
    const response = await call("/api/events", { headers: headers(), signal: controller.signal });
    onOpen();
    wait = 500;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const events = rest.split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const data = /^data: (\d+)$/m.exec(event);
        if (data) onNews(Number(data[1]));
      }
    }
  }
  async function run() {
    while (!isStopped) {
      let failure = new Refusal(0, "gone", GONE);
      try { await once(); } catch (error) { failure = error; }
      if (isStopped) return;
      onLoss(failure);
      await new Promise((resume) => setTimeout(resume, wait));
      wait = Math.min(wait * 2, 8000);
    }
  }
  run();
  return () => { isStopped = true; controller.abort(); };
}
