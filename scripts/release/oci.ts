/**
 * Writes images as archives of the OCI image layout (https://github.com/opencontainers/image-spec), which `podman
 * load`, `docker load` and `skopeo copy oci-archive:…` read. Docker reads it only in its newer store of images; what it
 * asks for in the older one is `manifest.json`. The same files give the same bytes: order, owners and
 * times of what is in a layer are fixed, and so is the compression, by the Node of the lockfile.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { ImageConfig } from './containerfile.ts';

export interface Layer {
  /** Of the compressed and of the plain bytes. */
  readonly digest: string;
  readonly diffId: string;
  readonly bytes: Buffer;
  readonly createdBy: string;
}

const TYPE = 'application/vnd.oci.image';

/** Returns the files below `folder` as a tar whose bytes depend on names, modes and contents alone. */
export function tarOf(folder: string, epochS: number, paths: readonly string[] = ['.']): Buffer {
  const fixed = ['--sort=name', `--mtime=@${epochS}`, '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  return execFileSync('tar', [...fixed, '-C', folder, '-cf', '-', ...paths], { maxBuffer: Infinity });
}

export function toLayer(folder: string, epochS: number, createdBy: string): Layer {
  const tar = tarOf(folder, epochS);
  const bytes = gzipSync(tar);
  return { digest: sha256(bytes), diffId: sha256(tar), bytes, createdBy };
}

/** Writes the archive of one image. */
export function writeImage(
  file: string,
  { name, config, layers, epochS }: { name: string; config: ImageConfig; layers: readonly Layer[]; epochS: number },
): void {
  const root = mkdtempSync(join(tmpdir(), 'image-'));
  try {
    mkdirSync(join(root, 'blobs/sha256'), { recursive: true });
    const add = (mediaType: string, content: Buffer | object) => {
      const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
      const digest = sha256(bytes);
      writeFileSync(join(root, 'blobs/sha256', digest), bytes);
      return { mediaType: `${TYPE}.${mediaType}`, digest: `sha256:${digest}`, size: bytes.length };
    };
    const created = new Date(epochS * 1_000).toISOString();
    const image = add('config.v1+json', {
      ...{ created, architecture: architecture(), os: 'linux', config },
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => `sha256:${diffId}`) },
      history: layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
    });
    const manifest = add('manifest.v1+json', {
      ...{ schemaVersion: 2, mediaType: `${TYPE}.manifest.v1+json`, config: image },
      layers: layers.map(({ bytes }) => add('layer.v1.tar+gzip', bytes)),
    });
    const annotations = { 'org.opencontainers.image.ref.name': name };
    const platform = { architecture: architecture(), os: 'linux' };
    const index = { schemaVersion: 2, manifests: [{ ...manifest, platform, annotations }] };
    writeFileSync(join(root, 'index.json'), JSON.stringify(index));
    writeFileSync(join(root, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
    const path = (digest: string) => `blobs/${digest.replace(':', '/')}`;
    const Layers = layers.map(({ digest }) => path(`sha256:${digest}`));
    const saved = [{ Config: path(image.digest), RepoTags: [name], Layers }];
    writeFileSync(join(root, 'manifest.json'), JSON.stringify(saved));
    writeFileSync(file, tarOf(root, epochS, ['oci-layout', 'index.json', 'manifest.json', 'blobs']));
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** In the words of container images. */
export function architecture(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch;
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
