// Requests with files: `fetch` does not tell how much of a body was sent.

/**
 * Send a request as `fetch` does; `progress` receives the share of the body that was sent, from 0 to 1.
 * @param {string} address
 * @param {{method: string, headers: Record<string, string>, body?: BodyInit | null, signal: AbortSignal}} init
 * @param {(share: number) => void} progress
 * @returns {Promise<Response>}
 */
export function upload(address, { method, headers, body, signal }, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const failed = () => reject(signal.reason ?? new TypeError("The request failed."));
    request.open(method, address);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => progress(total ? loaded / total : 0);
    request.onload = () => resolve(new Response(request.responseText || null, { status: request.status, headers: headersOf(request) }));
    request.onerror = failed;
    request.onabort = failed;
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(/** @type {XMLHttpRequestBodyInit} */ (body));
  });
}

/** @param {XMLHttpRequest} request @returns {[string, string][]} */
function headersOf(request) {
  const lines = request.getAllResponseHeaders().trim().split(/\r?\n/).filter(Boolean);
  return lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
}
