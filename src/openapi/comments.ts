/** The comments of the proto files as Markdown: they are the descriptions of the document. */
import type { DescEnum, DescEnumValue, DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf';
import { getComments } from '@bufbuild/protoplugin';

type Commented = DescEnum | DescEnumValue | DescField | DescMessage | DescMethod | DescService;

/** The comment above `desc`. Line breaks inside a paragraph are the source's, not the text's: they become spaces. */
export function commentOf(desc: Commented): string {
  const { leading = '' } = getComments(desc);
  const paragraphs = leading.split(/\n\s*\n/).map((paragraph) => paragraph.replace(/\s+/g, ' ').trim());
  const text = paragraphs.filter((paragraph) => paragraph !== '').join('\n\n');
  if (text === '') throw new Error(`${desc.toString()} has no comment to describe it`);
  return text;
}

/** `ListPets` as people say it: `List pets`. */
export function toWords(name: string): string {
  const words = name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
