/**
 * The trace of a run as the Parquet file that docs/trace-format.md describes: plain pages without compression, and the
 * metadata under the key rws_decode.trace. No DOM in here.
 */
const traceFile = (() => {
  "use strict";
  const INT32 = 1, DOUBLE = 5, BOOLEAN = 0;

  /** Numbers of Thrift's compact protocol, in which Parquet writes its headers. */
  class Thrift {
    bytes = [];
    last = [0];
    varint(value) {
      let rest = BigInt(value);
      while (rest > 127n) {
        this.bytes.push(Number(rest & 127n) | 128);
        rest >>= 7n;
      }
      this.bytes.push(Number(rest));
    }
    zigzag(value) { this.varint(value >= 0 ? 2 * value : -2 * value - 1); }
    field(id, type) {
      const gap = id - this.last.at(-1);
      this.bytes.push(gap << 4 | type);
      this.last[this.last.length - 1] = id;
    }
    int(id, value, type = 5) { this.field(id, type); this.zigzag(value); return this; }
    text(id, value) {
      this.field(id, 8);
      this.plainText(value);
      return this;
    }
    plainText(value) {
      const data = new TextEncoder().encode(value);
      this.varint(data.length);
      for (const byte of data) this.bytes.push(byte);
    }
    struct(id, fill) { this.field(id, 12); this.inner(fill); return this; }
    inner(fill) {
      this.last.push(0);
      fill(this);
      this.last.pop();
      this.bytes.push(0);
    }
    list(id, type, items, each) {
      this.field(id, 9);
      if (items.length < 15) this.bytes.push(items.length << 4 | type);
      else {
        this.bytes.push(0xf0 | type);
        this.varint(items.length);
      }
      items.forEach(each);
      return this;
    }
  }

  function plain(kind, values) {
    if (kind === INT32) return new Uint8Array(Int32Array.from(values).buffer);
    if (kind === DOUBLE) return new Uint8Array(Float64Array.from(values).buffer);
    const bits = new Uint8Array(Math.ceil(values.length / 8));
    values.forEach((value, n) => { if (value) bits[n >> 3] |= 1 << (n & 7); });
    return bits;
  }

  /** Return a Parquet file of required columns, [name, kind, values, whether they are of 8 bits]. */
  function parquet(columns, metadata) {
    const pieces = [new TextEncoder().encode("PAR1")], rows = columns[0][2].length, chunks = [];
    let at = 4;
    for (const [name, kind, values] of columns) {
      const data = plain(kind, values), head = new Thrift();
      head.int(1, 0).int(2, data.length).int(3, data.length).struct(5, page => page.int(1, rows).int(2, 0).int(3, 3).int(4, 3));
      head.bytes.push(0);
      const size = head.bytes.length + data.length;
      chunks.push({ name, kind, at, size });
      pieces.push(Uint8Array.from(head.bytes), data);
      at += size;
    }
    const foot = new Thrift();
    foot.int(1, 1);
    foot.list(2, 12, [null, ...columns], column => foot.inner(element => {
      if (!column) return element.text(4, "schema").int(5, columns.length);
      element.int(1, column[1]).int(3, 0).text(4, column[0]);
      if (column[3]) element.int(6, 15);
    }));
    foot.int(3, rows, 6);
    foot.list(4, 12, [0], () => foot.inner(group => {
      group.list(1, 12, chunks, chunk => foot.inner(one => one.int(2, chunk.at, 6).struct(3, meta => {
        meta.int(1, chunk.kind).list(2, 5, [0], zero => meta.zigzag(zero)).list(3, 8, [chunk.name], name => meta.plainText(name));
        meta.int(4, 0).int(5, rows, 6).int(6, chunk.size, 6).int(7, chunk.size, 6).int(9, chunk.at, 6);
      })));
      group.int(2, chunks.reduce((sum, chunk) => sum + chunk.size, 0), 6).int(3, rows, 6);
    }));
    foot.list(5, 12, metadata, ([key, value]) => foot.inner(pair => pair.text(1, key).text(2, value)));
    foot.text(6, "the playground of the RWS toolkit");
    foot.bytes.push(0);
    pieces.push(Uint8Array.from(foot.bytes), new Uint8Array(Uint32Array.of(foot.bytes.length).buffer), new TextEncoder().encode("PAR1"));
    return new Blob(pieces, { type: "application/vnd.apache.parquet" });
  }

  /** Return what the trace calls a strategy. */
  function described(rule) {
    const own = { name: rule.name };
    if (rule.name === "temperature") own.scale = rule.scale;
    if (rule.name === "rws") Object.assign(own, { eps: 1e-5, reward_scale: rule.reward_scale });
    if (rule.name === "random-order") own.seed = rule.seed;
    return rule.spacing > 1 ? { name: "spacing", of: own, spacing: rule.spacing } : own;
  }

  /** Return the trace of a whole run; promptText: what was typed. */
  function of(run, promptText) {
    const { model, records, length } = run, rows = [];
    const offset = (model.frame ?? (ids => ids))(run.prompt).length, asks = run.rule.name === "rws";
    for (const record of records) {
      const earlier = records[record.step - 1]?.candidate, value = place => (record.places.includes(place) ? record.value.get(place) : NaN);
      for (let place = 0; place < length; place += 1) {
        if (record.before[place] !== engine.MASK || !(record.places.includes(place) || earlier?.[place] !== record.candidate[place])) continue;
        rows.push({ record, place, value: value(place) });
      }
    }
    const step = read => rows.map(({ record }) => read(record)), whole = name => step(record => record[name]);
    const saturated = record => [...record.odds.values()].filter(odds => 1 / (1 + Math.exp(-odds)) === 1).length;
    const columns = [
      ["step", INT32, whole("step")], ["position", INT32, rows.map(({ place }) => place)],
      ["committed", BOOLEAN, rows.map(({ record, place }) => record.chosen.includes(place))], ["masked_again", BOOLEAN, rows.map(() => false)],
      ["unscaled", BOOLEAN, rows.map(({ record, place }) => record.unscaled.includes(place))],
      ["candidate", INT32, rows.map(({ record, place }) => record.candidate[place])], ["value", DOUBLE, rows.map(({ value }) => value)],
      ["factor", DOUBLE, whole("factor")], ["reward_use", INT32, whole("use"), true],
      ["reward_raw", DOUBLE, step(record => record.raw ?? NaN)], ["reward_normalised", DOUBLE, step(record => record.normalised ?? NaN)],
      ["ties", INT32, whole("ties")], ["saturated", INT32, step(saturated)], ["inexact", BOOLEAN, rows.map(() => false)],
      ["near_ties", INT32, whole("near")], ["near_tokens", INT32, whole("unsure")],
    ];
    const raw = run.reward ? engine.rewardOf(run, run.canvas) : null, seen = new Set([...model.frame?.(run.prompt) ?? run.prompt, ...run.canvas]);
    for (const record of records) for (const token of record.candidate) seen.add(token);
    const scored = records.filter(record => record.use === 1).length, reused = records.filter(record => record.use === 2).length;
    const trace = {
      block: run.block, cfg: 0, end_ids: [], end_of_text: "none", forwards: run.steps, length, mask_id: model.mask, offset, padding: "right",
      final_reward: run.reward && { model: run.reward.name, normalised: engine.normalised(run.reward, raw), raw },
      log_prob: model.exact ? model.logProb(run.prompt, run.canvas) : null, logits_dtype: model.exact ? "float64" : "float32",
      pieces: Object.fromEntries([...seen].sort((a, b) => a - b).map(token => [String(token), model.words[token]])), precision: "float64", predictor: model.name,
      prompt_text: promptText, ranking: engine.ordered(run.rule) ? "order" : "log-odds", reward_calls: scored, reward_calls_saved: reused,
      reward_model: asks ? run.reward.name : null, reward_settings: asks ? { bounds: run.reward.bounds, mean: run.reward.mean, std: run.reward.std } : {},
      reward_tokens: 0, reward_tokens_saved: 0, rules_broken: null, sampling_temperature: 0, savings: {}, seed: run.rule.seed, steps: run.steps,
      steps_run: run.steps, strategy: described(run.rule), text: model.textOf(engine.beforeEnd(run.canvas, model.end)), width: offset + length,
    };
    const header = { prompt: model.frame?.(run.prompt) ?? run.prompt, schema: "rws_decode.trace", spelled: model.spelled ?? true, trace, uncommitted_token: -1, version: 6, whole_candidates: true };
    return parquet(columns, [["rws_decode.trace", JSON.stringify(header)]]);
  }

  return { of, parquet };
})();
