// @ts-nocheck: it runs in the browser; the tests have no DOM types.

/**
 * Returns every text of the page whose contrast is less than `least` to 1, by the definition of WCAG 2.
 * https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
 */
export function textsWithLowContrast(least) {
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
  const context = canvas.getContext('2d', { willReadFrequently: true });

  /** Blends a colour over an opaque one. */
  function paint([red, green, blue], color, opacity = 1) {
    context.globalAlpha = 1;
    context.fillStyle = `rgb(${red}, ${green}, ${blue})`;
    context.fillRect(0, 0, 1, 1);
    context.globalAlpha = opacity;
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  }

  function luminance(color) {
    const [red, green, blue] = color.map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function contrastOf(element) {
    const line = [];
    for (let ancestor = element; ancestor !== null; ancestor = ancestor.parentElement) line.unshift(ancestor);
    const styles = line.map((ancestor) => getComputedStyle(ancestor));
    const background = styles.reduce((behind, style) => paint(behind, style.backgroundColor), [255, 255, 255]);
    const opacity = styles.reduce((product, style) => product * Number(style.opacity), 1);
    const text = paint(background, styles.at(-1).color, opacity);
    const [lighter, darker] = [luminance(text), luminance(background)].sort((a, b) => b - a);
    return (lighter + 0.05) / (darker + 0.05);
  }

  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.data.trim();
    const element = texts.currentNode.parentElement;
    if (text === '' || !element.checkVisibility() || element.closest('noscript')) continue;
    const contrast = contrastOf(element);
    if (contrast < least) found.push(`${contrast.toFixed(2)}: ${text} (${element.className})`);
  }
  return found;
}
