/** Packed arrays (page.py, `packed`) as typed arrays by name. No DOM in here. */
async function unpackArrays({ arrays, bytes }) {
  const kinds = { float64: Float64Array, float32: Float32Array, uint32: Uint32Array, uint16: Uint16Array };
  const text = atob(bytes), raw = new Uint8Array(text.length);
  for (let n = 0; n < raw.length; n += 1) raw[n] = text.charCodeAt(n);
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer()), found = {};
  let at = 0;
  for (const [name, kind, size] of arrays) {
    const array = new kinds[kind](size), whole = new Uint8Array(array.buffer), width = array.BYTES_PER_ELEMENT;
    for (let byte = 0; byte < width; byte += 1) {
      for (let n = 0; n < size; n += 1) whole[n * width + byte] = planes[at + n];
      at += size;
    }
    found[name] = array;
  }
  return found;
}
