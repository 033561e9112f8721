/**
 * A live feed on the page: a button that follows a stream of server-sent events with the pasted key, a line for each
 * event, and a button that stops it. Not EventSource, which can't send headers.
 *
 * A lost connection is opened again after the last id. An answer that a retry does not mend stops the feed, and is
 * shown in words. When the operation is closed the feed stops too.
 */

/** As long as the server tells browsers to wait. */
const RETRY_MS = 2_000;
/** Older lines are removed. */
const MAX_LINES = 200;

/** Returns a `ref` of React for the element that shows the feed at a path. `key()` is the pasted key, if any. */
export function feed(path, key) {
  let stop;
  return (element) => {
    if (element === null) stop();
    else stop = showFeed(element, path, key);
  };
}

/** Fills the element. Returns a function that stops the feed. */
function showFeed(element, path, key) {
  const button = Object.assign(document.createElement('button'), { type: 'button', className: 'btn' });
  const status = Object.assign(document.createElement('p'), { className: 'feed-status' });
  const lines = Object.assign(document.createElement('ol'), { className: 'feed-lines', hidden: true, tabIndex: 0 });
  status.setAttribute('role', 'status');
  lines.setAttribute('aria-label', 'Events');
  element.replaceChildren(button, status, lines);

  let following;
  let lastId;
  let count = 0;

  function say(text, isError = false) {
    status.textContent = text;
    status.classList.toggle('feed-error', isError);
  }

  function stop(text = '', isError = false) {
    following?.abort();
    following = undefined;
    button.textContent = 'Follow live';
    say(text, isError);
  }

  function show({ id, event, data }) {
    lastId = id ?? lastId;
    if (data === undefined || event === 'ready') return;
    count += 1;
    say(counted());
    const isAtEnd = lines.scrollTop + lines.clientHeight >= lines.scrollHeight - 2;
    const { time, type, id: _, ...rest } = JSON.parse(data);
    const line = document.createElement('li');
    line.append(part('time', new Date(time).toLocaleTimeString()), part('b', type), part('code', JSON.stringify(rest)));
    line.title = `event ${id}`;
    lines.hidden = false;
    lines.append(line);
    if (lines.childElementCount > MAX_LINES) lines.firstElementChild.remove();
    if (isAtEnd) lines.scrollTop = lines.scrollHeight;
  }

  const counted = () =>
    count === 0 ? 'Connected. Change something, and its event comes here.' : `Connected: ${count} events so far.`;

  async function follow() {
    if (key() === undefined) return say('A key is needed: paste it with “Authorize” at the top of the page.', true);
    const own = new AbortController();
    following = own;
    button.textContent = 'Stop';
    say('Connecting…');
    while (!own.signal.aborted) {
      const failure = await readStream(path, key(), lastId, own.signal, () => say(counted()), show);
      if (own.signal.aborted) return;
      if (failure.isFinal) {
        lastId = undefined; // the next start begins now
        return stop(`The feed has stopped: ${failure.text}.`, true);
      }
      say(`${failure.text}: trying again…`, true);
      await pause(failure.retryMs, own.signal);
    }
  }

  button.addEventListener('click', () => (following === undefined ? follow() : stop(`Stopped after ${count} events.`)));
  stop();
  return stop;
}

function part(name, textContent) {
  return Object.assign(document.createElement(name), { textContent });
}

/** Reads one stream to its end. Resolves with why it ended. Never rejects. */
async function readStream(path, key, lastId, signal, onOpen, onEvent) {
  try {
    const headers = { authorization: `Bearer ${key}`, ...(lastId === undefined ? {} : { 'last-event-id': lastId }) };
    const response = await fetch(path, { headers, signal, cache: 'no-store' });
    if (!response.ok) return await refusal(response);
    onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
      const events = (text + value).split('\n\n');
      text = events.pop();
      for (const event of events) onEvent(fieldsOf(event));
    }
    return { text: 'The server has ended the stream', retryMs: RETRY_MS };
  } catch {
    return { text: 'The connection is lost', retryMs: RETRY_MS };
  }
}

/** An answer that is no stream. Only a limit, and a fault of the server, pass. */
async function refusal(response) {
  const { message = `status ${response.status}` } = await response.json().catch(() => ({}));
  const seconds = Number(response.headers.get('retry-after') ?? 0);
  const isFinal = response.status < 500 && response.status !== 429;
  return { text: message, retryMs: Math.max(RETRY_MS, seconds * 1_000), isFinal };
}

/** The fields of an event (HTML Standard, section 9.2.6), each of one line, as this service writes them. */
function fieldsOf(event) {
  const fields = event.split('\n').map((line) => {
    const end = line.indexOf(':');
    return [line.slice(0, end), line.slice(end + 1).trimStart()];
  });
  return Object.fromEntries(fields);
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => [clearTimeout(timer), resolve()], { once: true });
  });
}
