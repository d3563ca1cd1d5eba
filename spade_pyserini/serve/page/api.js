// Requests to this server.

class ApiError extends Error {
  constructor(message, status, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** Fetch JSON; throw an ApiError with a message to show to the user if the request fails. */
async function request(url, options = {}) {
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer. Is it still running?", 0);
  }
  let body = {};
  try {
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (response.ok) throw new ApiError("The answer of the server is incomplete.", response.status);
  }
  if (response.ok) return body;
  const retry = Number(response.headers.get("Retry-After")) || null;
  throw new ApiError(body.error || `The server answered with status ${response.status}.`,
    response.status, retry);
}

/** Return a function that sends a request. Its next call, or a call of its `cancel`, aborts an unfinished request. */
function latest(send) {
  let controller = null;
  const call = async (...values) => {
    controller?.abort();
    controller = new AbortController();
    return send(controller.signal, ...values);
  };
  call.cancel = () => controller?.abort();
  return call;
}

function searchUrl({ q, k, without }) {
  const parameters = new URLSearchParams({ q, k });
  for (const term of without) parameters.append("without", term);
  return `/search?${parameters}`;
}

const explainUrl = (id, q) => `/explain?${new URLSearchParams({ id, q })}`;
const termUrl = (term, k) => `/terms?${new URLSearchParams({ term, k })}`;
