// A scenario in the address: compressed, after the #.

const PREFIX = "#s=";
/** Longest scenario that an address may have: a hostile one must not fill the memory. */
const MOST = 200_000;

/** The part of an address that has this scenario. */
export async function packed(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = btoa(String.fromCharCode(...bytes));
  return PREFIX + letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The scenario of an address, if it has one; throws if that is broken. */
export async function unpacked(hash: string): Promise<string | undefined> {
  if (!hash.startsWith(PREFIX)) return undefined;
  const letters = hash.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const [decoder, parts] = [new TextDecoder("utf-8", { fatal: true }), [] as string[]];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST) throw new Error("the scenario in this address is too large");
    parts.push(decoder.decode(value, { stream: true }));
  }
  return parts.join("") + decoder.decode();
}
