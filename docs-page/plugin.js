/**
 * The plugin of Swagger UI: shows the extensions of the description, and repairs what Swagger UI renders.
 *
 * How a plugin wraps selectors, actions and components:
 * https://swagger.io/docs/open-source-tools/swagger-ui/customization/plugin-api/
 */
import { headingId, OperationContainer, OperationTag } from './chapters.js';
import { feed } from './feed.js';

/** The key in this tab's sessionStorage under which the page keeps a pasted API key. */
export const AUTHORIZED = 'docs.authorized';

// API keys

/** Wraps an action: afterwards stores who is authorized, so that it survives a reload. */
function storeAuthorization(original, { authSelectors }) {
  return (payload) => {
    const result = original(payload);
    sessionStorage.setItem(AUTHORIZED, JSON.stringify(authSelectors.authorized()));
    return result;
  };
}

/** Wraps `authorize`: removes spaces and a leading "Bearer", which people paste with the key. */
function trimKey(original) {
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

// Extensions of the document

/** Whether the answer is a stream, which Swagger UI would await to its end. */
function isStream(operation) {
  return operation.hasIn(['responses', '200', 'content', 'text/event-stream']);
}

/** Offers "Try it out" unless the operation says `x-try-it: false`, or is a stream. */
function allowTryItOutFor(original) {
  return (state, path, method) => {
    const operation = state.getIn(['json', 'paths', path, method]);
    return operation.get('x-try-it') !== false && !isStream(operation) && original(state, path, method);
  };
}

/** Above the parameters: a live feed, or why "Try it out" is missing. */
function parameters(Original, { React: { createElement: h, memo }, specSelectors, authSelectors }) {
  const key = () => authSelectors.authorized()?.getIn(['apiKey', 'value']);
  /** Rendered once: React would call another `ref` each time. */
  const Feed = memo(({ path }) => h('div', { className: 'feed', ref: feed(path, key) }));
  return (props) => {
    const [path, method] = props.pathMethod;
    const isFeed = isStream(specSelectors.specJson().getIn(['paths', path, method]));
    return [
      isFeed && h(Feed, { key: 'feed', path }),
      !isFeed &&
        !props.allowTryItOut &&
        h('p', { key: 'note', className: 'no-try-it-out' }, '“Try it out” is off: see the description above.'),
      h(Original, { key: 'parameters', ...props }),
    ];
  };
}

/**
 * Adds badges for stability, deprecation and sunset to the path. Replaces Swagger UI's component, which puts a link
 * into the button that opens the operation: HTML forbids nested controls, and screen readers can't reach the inner one.
 */
function OperationSummaryPath(_, { React: { createElement: h }, specSelectors }) {
  return (props) => {
    const { path, method, deprecated } = props.operationProps.toObject();
    const operation = specSelectors.specJson().getIn(['paths', path, method]);
    const stability = operation.get('x-stability');
    const sunset = operation.get('x-sunset');
    // A line may break before each slash but the first.
    const parts = path.split(/(?=\/)/g).flatMap((part, i) => (i === 0 ? part : [h('wbr', { key: i }), part]));
    return h(
      'span',
      { className: 'path-with-badges' },
      h('span', { className: `opblock-summary-path${deprecated ? '__deprecated' : ''}`, 'data-path': path }, parts),
      stability && h('span', { className: `badge badge-${stability}` }, stability),
      deprecated && h('span', { className: 'badge badge-deprecated' }, 'deprecated'),
      sunset &&
        h(
          'span',
          { className: 'badge badge-deprecated' },
          'sunset ',
          h('time', { dateTime: sunset }, sunset.slice(0, 10)),
        ),
    );
  };
}

// Responses

/** Folds the response headers, which are almost the same everywhere. */
function headers(Original, { React: { createElement: h } }) {
  return (props) =>
    props.headers?.size > 0 &&
    h('details', { className: 'response-headers' }, h('summary', null, 'Headers'), h(Original, props));
}

/** Shows an error as its description, which lists codes and messages: the body has the same form for all of them. */
function response(Original, { React: { createElement: h } }) {
  return (props) => {
    const { code, response, className, getComponent } = props;
    if (Number(code) < 400) return h(Original, props);
    return h(
      'tr',
      { className: `response ${className ?? ''}`, 'data-code': code },
      h('td', { className: 'response-col_status' }, code),
      h(
        'td',
        { className: 'response-col_description' },
        h(getComponent('Markdown', true), { source: response.get('description') }),
        h(getComponent('headers'), { headers: response.get('headers'), getComponent }),
      ),
    );
  };
}

/** Folds the errors that every operation has: the document refers to one shared response for each. */
function responses(Original, { React: { createElement: h }, specSelectors }) {
  return (props) => {
    const { path, method, getComponent } = props;
    const described = specSelectors.specJson().getIn(['paths', path, method, 'responses']);
    const isShared = (_, code) => described.get(code).has('$ref');
    const shared = props.responses.filter(isShared);
    const Response = getComponent('response');
    const rows = shared.entrySeq().map(([code, response]) => h(Response, { key: code, code, response, getComponent }));
    return h(
      'div',
      { className: 'responses-with-errors', ref: unsetRegion },
      h(Original, { ...props, responses: props.responses.filterNot(isShared) }),
      h(
        'p',
        null,
        'Every error has the body that ',
        h('a', { href: '#/Errors', 'data-heading': headingId('Errors') }, 'Errors'),
        ' describes.',
      ),
      h(
        'details',
        { className: 'shared-errors' },
        h('summary', null, `Errors of every operation: ${shared.keySeq().join(', ')}`),
        h('table', { className: 'responses-table' }, h('tbody', null, rows)),
      ),
    );
  };
}

/** Swagger UI makes a landmark without a name of each table of responses, which also hides that it is a table. */
function unsetRegion(element) {
  element?.querySelector('table[role=region]')?.removeAttribute('role');
}

// Accessibility of what Swagger UI renders

/** Drops the choice between servers: there is one, and its select has no label. */
function ServersContainer() {
  return () => null;
}

/** Puts the title into a landmark; the section around it keeps `header` from being one by itself. */
function InfoContainer(Original, { React: { createElement: h } }) {
  return (props) => h('header', { role: 'banner' }, h(Original, props));
}

/** The button that opens the dialog, with a line that says what it is for. */
function AuthorizeBtnContainer(Original, { React: { createElement: h } }) {
  return (props) => [
    h('p', { key: 'about' }, 'Have a key? Paste it once, and try the operations on this page. It stays in this tab.'),
    h(Original, { key: 'button', ...props }),
  ];
}

/** The field of the dialog. Swagger UI's own says "Value". */
function HttpAuth(_, { React: { createElement: h } }) {
  return ({ name, schema, authorized, onChange }) => {
    const form = schema.get('bearerFormat');
    const onInput = ({ target }) => onChange({ name, schema, value: target.value });
    const field = { id: 'api-key', autoFocus: true, autoComplete: 'off', spellCheck: false, placeholder: form };
    return authorized?.getIn([name, 'value'])
      ? h('p', null, 'Your key is set. It stays in this tab until you log out or close it.')
      : [
          h('label', { key: 'label', htmlFor: 'api-key' }, `Paste your key (${form})`),
          h('input', { key: 'field', type: 'text', onChange: onInput, ...field }),
          h('p', { key: 'about' }, `“Bearer ${form}” works too. The operator gives you one.`),
        ];
  };
}

/** Puts a part of the page into a landmark, under the heading of level 2 that is missing above those of level 3. */
function headedBy(title) {
  return (Original, { React: { createElement: h } }) =>
    (props) =>
      h(
        'section',
        { 'aria-label': title, className: 'part' },
        h('h2', { className: 'visually-hidden' }, title),
        h(Original, props),
      );
}

function authorizationPopup(Original, { React: { createElement: h } }) {
  const name = (element) => element && Object.assign(element.querySelector('h3'), { textContent: 'Your API key' });
  const dialog = { role: 'dialog', 'aria-modal': true, 'aria-label': 'API key', ref: name };
  return (props) => h('div', dialog, h(Original, props));
}

/** Names the button that closes the dialog: it shows an icon alone. */
function CloseIcon(Original, { React: { createElement: h } }) {
  return (props) => [
    h('span', { key: 'name', className: 'visually-hidden' }, 'Close dialog'),
    h(Original, { key: 'icon', ...props }),
  ];
}

/** Drops labels that differ from the visible text, such as "Apply credentials" on the button "Authorize". */
function Button(Original, { React: { createElement: h } }) {
  return (props) => h(Original, { ...props, 'aria-label': undefined });
}

/** Labels the field of a parameter with its name, which Swagger UI passes as `description`. */
function labelled(Original, { React: { createElement: h } }) {
  return (props) =>
    h('label', null, h('span', { className: 'visually-hidden' }, props.description), h(Original, props));
}

/** A list of values to choose from is one field; any other list has a field and a button for each item. */
function labelledChoice(Original, system) {
  const [Labelled, { createElement: h }] = [labelled(Original, system), system.React];
  return (props) => h(props.schema.hasIn(['items', 'enum']) ? Labelled : Original, props);
}

function TextArea(Original, { React: { createElement: h } }) {
  return (props) => h(Original, { 'aria-label': 'Request body', ...props });
}

export function plugin() {
  return {
    statePlugins: {
      spec: { wrapSelectors: { allowTryItOutFor } },
      auth: {
        wrapActions: {
          authorize: (original, system) => storeAuthorization(trimKey(original), system),
          logout: storeAuthorization,
        },
      },
    },
    // An item of a list of ids, which would otherwise be a field without a label.
    components: { JsonSchema_integer_int64: (props) => props.getComponent('JsonSchema_string')(props) },
    wrapComponents: {
      authorizationPopup,
      AuthorizeBtnContainer: (original, system) => headedBy('API key')(AuthorizeBtnContainer(original, system), system),
      Button,
      CloseIcon,
      headers,
      HttpAuth,
      InfoContainer,
      JsonSchema_array: labelledChoice,
      JsonSchema_boolean: labelled,
      JsonSchema_string: labelled,
      operations: headedBy('Guide and operations'),
      OperationContainer,
      OperationSummaryPath,
      OperationTag,
      parameters,
      response,
      responses,
      ServersContainer,
      TextArea,
    },
  };
}
