/** The parts of the page: pages of prose with buttons that copy, and tags with their operations in groups. */

/** The id that Swagger UI gives the heading of a tag. */
export function headingId(tag) {
  return `operations-tag-${tag.replaceAll(' ', '_')}`;
}

/** The id of a page, to which links of other pages lead. */
function pageId(title) {
  return title.toLowerCase().replaceAll(' ', '-');
}

/** What the operations of a path are about: `Orders` for `/store/orders/{orderId}`, if there is a `/store/orders`. */
export function groupOf(path, { specSelectors }) {
  const above = [...specSelectors.specJson().get('paths').keys()].filter((one) => `${path}/`.startsWith(`${one}/`));
  const [root] = above.sort((one, other) => one.length - other.length);
  const name = root.split('/').findLast((part) => !part.startsWith('{'));
  return name[0].toUpperCase() + name.slice(1);
}

/** Shows a tag without operations as a page of prose, not as a list that opens and closes. */
export function OperationTag(Original, { React: { createElement: h }, layoutActions }) {
  return (props) => {
    const { tag, tagObj, getComponent } = props;
    if (tagObj.get('operations').size > 0) return h(Original, props);
    const Markdown = getComponent('Markdown', true);
    const text = tagObj.getIn(['tagDetails', 'description'], '').replaceAll('http://127.0.0.1:8080', location.origin);
    return h(
      'section',
      {
        className: 'chapter',
        id: pageId(tag),
        ref(element) {
          if (element === null) return;
          layoutActions.readyToScroll(['operations-tag', tag], element);
          // Swagger UI opens every link in a new tab.
          for (const link of element.querySelectorAll('a[href^="#"]')) link.removeAttribute('target');
          for (const pre of element.querySelectorAll('pre:not(.code > pre)')) addCopyButton(pre);
        },
      },
      h('h3', { id: headingId(tag) }, tag),
      h(Markdown, { source: text }),
    );
  };
}

/** Puts a heading above the first operation of each group of a tag that has several. */
export function OperationContainer(Original, system) {
  const { createElement: h, Fragment } = system.React;
  // A subclass, because Swagger UI connects the component by a method of its prototype.
  return class extends Original {
    render() {
      const { tag, path, method } = this.props;
      const operations = system.specSelectors.taggedOperations().getIn([tag, 'operations']);
      const group = groupOf(path, system);
      const members = operations.filter((operation) => groupOf(operation.get('path'), system) === group);
      const isFirst = members.first().get('path') === path && members.first().get('method') === method;
      const heading = isFirst && members.size < operations.size;
      const id = `group-${group}`;
      return h(Fragment, null, heading && h('h4', { id, className: 'group' }, group), super.render());
    }
  };
}

/** Adds a button without text, so that whoever selects the page copies its text alone. */
function addCopyButton(pre) {
  const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy' });
  button.setAttribute('aria-label', 'Copy');
  button.addEventListener('click', () => {
    // Not navigator.clipboard, which exists only over HTTPS.
    getSelection().selectAllChildren(pre);
    document.execCommand('copy');
    getSelection().removeAllRanges();
    button.setAttribute('aria-label', 'Copied');
    setTimeout(() => button.setAttribute('aria-label', 'Copy'), 2_000);
  });
  const code = Object.assign(document.createElement('div'), { className: 'code' });
  pre.replaceWith(code);
  pre.tabIndex = 0; // the keyboard can scroll it
  code.append(pre, button);
}
