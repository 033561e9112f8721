/**
 * The docs page: swagger-ui over /openapi.json, and a plugin for what that document says beyond what swagger-ui shows.
 * Everything comes from this server; the browser's Content-Security-Policy (envoy.yaml) allows nothing else.
 *
 * Plain JavaScript, served as it is. How a swagger-ui plugin wraps selectors, actions and components:
 * https://swagger.io/docs/open-source-tools/swagger-ui/customization/plugin-api/
 */

/** Where a pasted API key lives: in this tab, until it is closed. */
const KEY_STORE = 'petstore.authorized';

const darkScheme = matchMedia('(prefers-color-scheme: dark)');

function followColorScheme() {
  document.documentElement.classList.toggle('dark-mode', darkScheme.matches);
}

followColorScheme();
darkScheme.addEventListener('change', followColorScheme);

/** The headers of a response, out of the way: they are much the same for all of them. */
function headers(Original, { React: { createElement: h } }) {
  return (props) =>
    props.headers?.size > 0 &&
    h('details', { className: 'response-headers' }, h('summary', null, 'Headers'), h(Original, props));
}

/** The id that swagger-ui gives a tag's heading. */
function headingId(tag) {
  return `operations-tag-${tag.replaceAll(' ', '_')}`;
}

/** Calls the wrapped action, then keeps who is authorized for a reload of the page. */
function andRemember(original, { authSelectors }) {
  return (payload) => {
    const result = original(payload);
    sessionStorage.setItem(KEY_STORE, JSON.stringify(authSelectors.authorized()));
    return result;
  };
}

/** A key as people paste it: with spaces around it, or with the word that goes before it in the header. */
function withTidyKey(original) {
  return (schemes) =>
    original(
      Object.fromEntries(
        Object.entries(schemes).map(([name, scheme]) => {
          const { value } = scheme;
          return [
            name,
            typeof value === 'string' ? { ...scheme, value: value.trim().replace(/^Bearer\s+/i, '') } : scheme,
          ];
        }),
      ),
    );
}

/** Try-it is offered unless the operation says `x-try-it: false`. */
function allowTryItOutFor(original) {
  return (state, path, method) =>
    state.getIn(['json', 'paths', path, method, 'x-try-it']) !== false && original(state, path, method);
}

/** Badges beside the path: how stable an operation is, and when it goes. */
function OperationSummaryPath(Original, { React: { createElement: h }, specSelectors }) {
  return (props) => {
    const { path, method } = props.operationProps.toObject();
    const operation = specSelectors.specJson().getIn(['paths', path, method]);
    const stability = operation.get('x-stability');
    const sunset = operation.get('x-sunset');
    return h(
      'span',
      { className: 'path-with-badges' },
      h(Original, props),
      stability && h('span', { className: `badge badge-${stability}` }, stability),
      sunset &&
        h('span', { className: 'badge badge-sunset' }, 'sunset ', h('time', { dateTime: sunset }, sunset.slice(0, 10))),
    );
  };
}

/** A tag without operations is a chapter of prose, not a list that opens and closes. */
function OperationTag(Original, { React: { createElement: h }, layoutActions }) {
  return (props) => {
    const { tag, tagObj, getComponent } = props;
    if (tagObj.get('operations').size > 0) return h(Original, props);
    const Markdown = getComponent('Markdown', true);
    const text = tagObj.getIn(['tagDetails', 'description'], '').replaceAll('{base_url}', location.origin);
    return h(
      'section',
      {
        className: 'chapter',
        ref: (element) => element && layoutActions.readyToScroll(['operations-tag', tag], element),
      },
      h('h3', { id: headingId(tag) }, tag),
      h(Markdown, { source: text }),
    );
  };
}

function petstore() {
  return {
    statePlugins: {
      spec: { wrapSelectors: { allowTryItOutFor } },
      auth: {
        wrapActions: {
          authorize: (original, system) => andRemember(withTidyKey(original), system),
          logout: andRemember,
        },
      },
    },
    wrapComponents: { OperationSummaryPath, OperationTag, headers },
  };
}

/** The table of contents: every tag, under the address that swagger-ui reads when the page is opened. */
function listContents() {
  const list = document.createElement('ul');
  for (const tag of ui.specSelectors.taggedOperations().keys()) {
    const link = Object.assign(document.createElement('a'), { href: `#/${encodeURIComponent(tag)}`, textContent: tag });
    link.addEventListener('click', () => document.getElementById(headingId(tag)).scrollIntoView());
    const item = document.createElement('li');
    item.append(link);
    list.append(item);
  }
  document.getElementById('contents').replaceChildren(list);
}

function restoreAuthorization() {
  const authorized = sessionStorage.getItem(KEY_STORE);
  if (authorized !== null) ui.authActions.restoreAuthorization({ authorized: JSON.parse(authorized) });
}

const ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#page',
  plugins: [petstore],
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  syntaxHighlight: { theme: 'tomorrow-night' },
  onComplete() {
    listContents();
    restoreAuthorization();
  },
});

addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') ui.authActions.showDefinitions(false);
});
