/**
 * The docs page: Swagger UI over /openapi.json, with the plugin in plugin.js and a table of contents. Everything comes
 * from this server; the Content-Security-Policy allows nothing else. Plain JavaScript, served as it is.
 */
import { groupOf, headingId } from './chapters.js';
import { AUTHORIZED, plugin } from './plugin.js';

const darkScheme = matchMedia('(prefers-color-scheme: dark)');

function followColorScheme() {
  document.documentElement.classList.toggle('dark-mode', darkScheme.matches);
}

followColorScheme();
darkScheme.addEventListener('change', followColorScheme);

// Swagger UI itself reads the address only when the document is loaded.
document.addEventListener('click', ({ target }) => {
  const heading = target.closest('[data-heading]')?.dataset.heading;
  if (heading !== undefined) document.getElementById(heading).scrollIntoView();
});

function restoreAuthorization() {
  const authorized = sessionStorage.getItem(AUTHORIZED);
  if (authorized !== null) ui.authActions.restoreAuthorization({ authorized: JSON.parse(authorized) });
}

/** Fills the table of contents: a link to every tag and group, with the address that Swagger UI reads at the start. */
function renderContents() {
  const list = document.createElement('ul');
  for (const [tag, tagged] of ui.specSelectors.taggedOperations()) {
    list.append(entry(tag, `#/${encodeURIComponent(tag)}`, headingId(tag)));
    const groups = Map.groupBy(tagged.get('operations'), (operation) => groupOf(operation.get('path'), ui));
    for (const [group, [first]] of groups) {
      if (group === tag) continue;
      const item = entry(group, `#/${tag}/${first.getIn(['operation', 'operationId'])}`, `group-${group}`);
      item.className = 'group';
      list.append(item);
    }
  }
  document.getElementById('contents').replaceChildren(list);
}

function entry(text, href, heading) {
  const link = Object.assign(document.createElement('a'), { href, textContent: text });
  link.dataset.heading = heading;
  const item = document.createElement('li');
  item.append(link);
  return item;
}

const ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#page',
  plugins: [plugin],
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  syntaxHighlight: { theme: 'tomorrow-night' },
  onComplete() {
    document.title = `${ui.specSelectors.info().get('title')} API`;
    renderContents();
    restoreAuthorization();
  },
});
