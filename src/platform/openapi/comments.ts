/** Reads the comments of the proto files as Markdown, for the descriptions of the document. */
import type { DescEnum, DescEnumValue, DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf';
import { getComments } from '@bufbuild/protoplugin';

type Commented = DescEnum | DescEnumValue | DescField | DescMessage | DescMethod | DescService;

/** Returns the comment above `desc`; line breaks within a paragraph become spaces. Throws when there is none. */
export function commentOf(desc: Commented): string {
  const { leading = '' } = getComments(desc);
  const paragraphs = leading.split(/\n\s*\n/).map((paragraph) => paragraph.replace(/\s+/g, ' ').trim());
  const text = paragraphs.join('\n\n');
  if (text === '') throw new Error(`${desc.toString()} has no comment to describe it`);
  return text;
}
