/**
 * The packages of the platform had names below the API's in 1.0.0. Its edges ask under them while machines are upgraded
 * one after the other, and on the way back; so does its command. All of this file goes after 1.1.0.
 */
import { NAME } from '../../identity.ts';

const FORMER = new RegExp(`\\b${NAME}(?=([./])(admin|edge|rest|web)\\1v1\\b)`, 'g');

/** Puts today's names in place of former ones: in the path of a method, or in descriptors as JSON. */
export function withTodaysNames(text: string): string {
  return text.replaceAll(FORMER, 'apiplatform');
}
