/**
 * The forward of a ModernBERT network of full attention (Warner et al. 2024), as predictors/modernbert.py arranges it:
 * products are summed in float64 and rounded to float32, in which everything is kept. No DOM in here.
 */
const network = (() => {
  "use strict";

  /** Return float16 numbers, given by their bits, as float32. */
  function fromHalf(bits) {
    const result = new Float32Array(bits.length);
    for (let n = 0; n < bits.length; n += 1) {
      const exponent = bits[n] >> 10 & 31, mantissa = bits[n] & 1023, size = exponent ? POWERS[exponent] * (1024 + mantissa) : POWERS[1] * mantissa;
      result[n] = bits[n] >> 15 ? -size : size;
    }
    return result;
  }
  const POWERS = Array.from({ length: 32 }, (_, exponent) => 2 ** (exponent - 25));

  /** Return x [rows, width] times the transpose of a weight [out, width], four rows and four outputs at a time. */
  function linear(x, rows, weight, width, out) {
    if (rows & 3) { // in fours
      const filled = new Float32Array((rows + 3 & ~3) * width);
      filled.set(x.subarray(0, rows * width));
      return linear(filled, rows + 3 & ~3, weight, width, out).subarray(0, rows * out);
    }
    const result = new Float32Array(rows * out), most = out & ~3;
    const put = (at, p, q, r, s) => {
      result[at] = p;
      result[at + 1] = q;
      result[at + 2] = r;
      result[at + 3] = s;
    };
    for (let r = 0; r < rows; r += 4) {
      const a = r * width, b = a + width, c = b + width, d = c + width;
      for (let o = 0; o < most; o += 4) {
        const e = o * width, f = e + width, g = f + width, h = g + width;
        let ae = 0, af = 0, ag = 0, ah = 0, be = 0, bf = 0, bg = 0, bh = 0, ce = 0, cf = 0, cg = 0, ch = 0, de = 0, df = 0, dg = 0, dh = 0;
        for (let n = 0; n < width; n += 1) {
          const we = weight[e + n], wf = weight[f + n], wg = weight[g + n], wh = weight[h + n];
          let y = x[a + n];
          ae += y * we; af += y * wf; ag += y * wg; ah += y * wh;
          y = x[b + n];
          be += y * we; bf += y * wf; bg += y * wg; bh += y * wh;
          y = x[c + n];
          ce += y * we; cf += y * wf; cg += y * wg; ch += y * wh;
          y = x[d + n];
          de += y * we; df += y * wf; dg += y * wg; dh += y * wh;
        }
        put(r * out + o, ae, af, ag, ah);
        put((r + 1) * out + o, be, bf, bg, bh);
        put((r + 2) * out + o, ce, cf, cg, ch);
        put((r + 3) * out + o, de, df, dg, dh);
      }
    }
    for (let r = 0; r < rows; r += 1) { // what is left over
      for (let o = most; o < out; o += 1) {
        let sum = 0;
        for (let n = 0; n < width; n += 1) sum += x[r * width + n] * weight[o * width + n];
        result[r * out + o] = sum;
      }
    }
    return result;
  }

  function norm(x, width, weight) {
    const result = new Float32Array(x.length);
    for (let at = 0; at < x.length; at += width) {
      let mean = 0, square = 0;
      for (let n = 0; n < width; n += 1) mean += x[at + n];
      mean /= width;
      for (let n = 0; n < width; n += 1) square += (x[at + n] - mean) ** 2;
      const scale = 1 / Math.sqrt(square / width + 1e-5);
      for (let n = 0; n < width; n += 1) result[at + n] = (x[at + n] - mean) * scale * weight[n];
    }
    return result;
  }

  /** erf at steps of 1/128 up to 6, by Simpson's rule, and around them by three terms of Taylor's series. */
  const ERF = (() => {
    const table = new Float64Array(6 * 128 + 2), bell = x => 2 / Math.sqrt(Math.PI) * Math.exp(-x * x), h = 1 / 128;
    for (let n = 1; n < table.length; n += 1) {
      const x = (n - 1) * h;
      table[n] = table[n - 1] + h / 12 * (bell(x) + 4 * bell(x + h / 4) + 2 * bell(x + h / 2) + 4 * bell(x + 3 * h / 4) + bell(x + h));
    }
    return table;
  })();

  function gelu(x) {
    const y = Math.abs(x) * Math.SQRT1_2;
    if (y >= 6) return x > 0 ? x : 0;
    const n = Math.round(y * 128), at = n / 128, h = y - at;
    const erf = ERF[n] + 2 / Math.sqrt(Math.PI) * Math.exp(-at * at) * h * (1 - at * h + (2 * at * at - 1) / 3 * h * h);
    return 0.5 * x * (1 + (x < 0 ? -erf : erf));
  }

  /** Return the network of some weights by name: `states(ids, wanted)`, `head(states)`. heads: of its attention. */
  function of(weights, heads) {
    const embedding = weights["model.embeddings.tok_embeddings.weight"], hidden = weights["model.final_norm.weight"].length, part = hidden / heads, half = part / 2;
    const layers = [];
    for (let n = 0; `model.layers.${n}.attn.Wo.weight` in weights; n += 1) {
      const named = name => weights[`model.layers.${n}.${name}.weight`];
      layers.push({ attn_norm: named("attn_norm"), qkv: named("attn.Wqkv"), out: named("attn.Wo"), mlp_norm: named("mlp_norm"), wide: named("mlp.Wi"), narrow: named("mlp.Wo") });
    }
    const turns = [];
    function turn(place) {
      return turns[place] ??= Array.from({ length: half }, (_, n) => {
        const angle = Math.fround(place * Math.fround(160000 ** (-2 * n / part)));
        return [Math.fround(Math.cos(angle)), Math.fround(Math.sin(angle))];
      });
    }

    /** Turn queries and keys by their places, in place. qkv: [rows, 3, heads, part]. */
    function rotate(qkv, rows) {
      for (let r = 0; r < rows; r += 1) {
        const angles = turn(r);
        for (let block = 0; block < 2 * heads; block += 1) {
          const at = r * 3 * hidden + block * part;
          for (let n = 0; n < half; n += 1) {
            const [cos, sin] = angles[n], first = qkv[at + n], second = qkv[at + half + n];
            qkv[at + n] = first * cos - second * sin;
            qkv[at + half + n] = second * cos + first * sin;
          }
        }
      }
    }

    /** Return what each wanted place takes from all places. */
    function attend(qkv, rows, wanted) {
      const mixed = new Float32Array(wanted.length * hidden), root = 1 / Math.sqrt(part);
      const keys = new Float32Array(rows * part), values = new Float32Array(rows * part), asked = new Float32Array(wanted.length * part);
      for (let head = 0; head < heads; head += 1) {
        const piece = (row, which) => qkv.subarray(row * 3 * hidden + which * hidden + head * part, row * 3 * hidden + which * hidden + (head + 1) * part);
        for (let r = 0; r < rows; r += 1) {
          keys.set(piece(r, 1), r * part);
          piece(r, 2).forEach((value, n) => { values[n * rows + r] = value; });
        }
        wanted.forEach((place, n) => asked.set(piece(place, 0), n * part));
        const score = linear(asked, wanted.length, keys, part, rows);
        for (let at = 0; at < score.length; at += rows) {
          let most = -Infinity, total = 0;
          for (let r = at; r < at + rows; r += 1) if (score[r] > most) most = score[r];
          for (let r = at; r < at + rows; r += 1) total += score[r] = Math.exp((score[r] - most) * root);
          for (let r = at; r < at + rows; r += 1) score[r] /= total;
        }
        const taken = linear(score, wanted.length, values, rows, part);
        wanted.forEach((_, n) => mixed.set(taken.subarray(n * part, (n + 1) * part), n * hidden + head * part));
      }
      return mixed;
    }

    const add = (x, y) => { for (let n = 0; n < x.length; n += 1) x[n] += y[n]; };
    const rowsOf = (x, wanted) => {
      const picked = new Float32Array(wanted.length * hidden);
      wanted.forEach((place, n) => picked.set(x.subarray(place * hidden, (place + 1) * hidden), n * hidden));
      return picked;
    };

    /** Return the last hidden states of token ids [wanted, hidden]; the last layer is computed at the wanted places alone. */
    function states(ids, wanted) {
      const rows = ids.length, everywhere = [...ids.keys()];
      let x = new Float32Array(rows * hidden);
      ids.forEach((id, n) => x.set(embedding.subarray(id * hidden, (id + 1) * hidden), n * hidden));
      x = norm(x, hidden, weights["model.embeddings.norm.weight"]);
      layers.forEach((layer, number) => {
        const places = number === layers.length - 1 ? wanted : everywhere;
        const qkv = linear(layer.attn_norm ? norm(x, hidden, layer.attn_norm) : x, rows, layer.qkv, hidden, 3 * hidden);
        rotate(qkv, rows);
        const mixed = attend(qkv, rows, places);
        if (places !== everywhere) x = rowsOf(x, places);
        add(x, linear(mixed, places.length, layer.out, hidden, hidden));
        const inner = layer.wide.length / hidden / 2, both = linear(norm(x, hidden, layer.mlp_norm), places.length, layer.wide, hidden, 2 * inner);
        const gated = new Float32Array(places.length * inner);
        for (let r = 0; r < places.length; r += 1) {
          for (let n = 0; n < inner; n += 1) gated[r * inner + n] = gelu(both[r * 2 * inner + n]) * both[r * 2 * inner + inner + n];
        }
        add(x, linear(gated, places.length, layer.narrow, inner, hidden));
      });
      return norm(x, hidden, weights["model.final_norm.weight"]);
    }

    /** Return states after the head's dense layer, its activation and its norm. */
    function head(x) {
      const dense = linear(x, x.length / hidden, weights["head.dense.weight"], hidden, hidden).map(gelu);
      return norm(dense, hidden, weights["head.norm.weight"]);
    }

    return {
      hidden,
      /** Return the logits of the wanted places, a Float64Array [V] each. */
      logits(ids, wanted) {
        const bias = weights["decoder.bias"], V = bias.length, found = linear(head(states(ids, wanted)), wanted.length, embedding, hidden, V);
        return wanted.map((_, n) => Float64Array.from(found.subarray(n * V, (n + 1) * V), (value, token) => Math.fround(value + bias[token])));
      },
      /** Return the one output of a classifier that pools the mean of all places. */
      score(ids) {
        const x = states(ids, [...ids.keys()]), mean = new Float32Array(hidden), weight = weights["classifier.weight"];
        for (let n = 0; n < hidden; n += 1) {
          let sum = 0;
          for (let at = n; at < x.length; at += hidden) sum += x[at];
          mean[n] = sum / ids.length;
        }
        return Math.fround(head(mean).reduce((sum, value, n) => sum + value * weight[n], weights["classifier.bias"][0]));
      },
    };
  }

  return { of, fromHalf };
})();
