// program.js - what the manifest says of memory and cost (docs/manifest.md).
'use strict';

const report = JSON.parse(document.getElementById('program').textContent);
const manifest = report.manifest;

/** What memory of the arena is for; the last kind is beside the buffers. */
const workspaceKind = 'workspace';
const kinds = [...report.kinds, workspaceKind];

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const product = (numbers) => numbers.reduce((total, number) => total * number, 1);

//----------------------------------------------------------------------------------------------------------------------
// Lines of the model
//----------------------------------------------------------------------------------------------------------------------

/** "gpt2.tsr:31:7 and 2 more" as a file and the number of a line; null for no line. */
function parseLine(at) {
  const found = /^(.*?):(\d+):\d+(?: .*)?$/.exec(at || '');
  return found ? {file: found[1], number: Number(found[2])} : null;
}

function lineKey(at) {
  const line = parseLine(at);
  return line ? `${line.file}:${line.number}` : '';
}

/** The files of the model: their texts if the page has them, else the lines that the manifest has. */
function modelTexts() {
  if (report.texts.length > 0)
    return report.texts.map(({name, lines}) => ({name, lines: lines.map((text, i) => ({number: i + 1, text}))}));
  const source = manifest && manifest.source;
  return ((source && source.files) || []).map(({name, lines}) => ({
    name,
    lines: lines.map((line) => {
      const space = line.indexOf(' ');
      return {number: Number(line.slice(0, space)), text: line.slice(space + 1)};
    }),
  }));
}

//----------------------------------------------------------------------------------------------------------------------
// Memory
//----------------------------------------------------------------------------------------------------------------------

/** What tells values of one name apart; the first of these that does is used. */
const distinctions = [
  ({at}) => at || 'no line',
  ({first, last}) => `moments ${first} to ${last}`,
  ({offset}) => `byte ${offset} of the arena`,
];

/** Names for people, by value: where several values of the list have one name, with what tells them apart. */
function labelsOf(values) {
  const named = new Map();
  for (const value of values) named.set(value.name, [...(named.get(value.name) || []), value]);
  const labels = new Map();
  for (const [name, same] of named) {
    const differs = (text) => new Set(same.map(text)).size === same.length;
    const tell = distinctions.find(differs) || distinctions[distinctions.length - 1];
    for (const value of same) labels.set(value, same.length === 1 ? name : `${name} (${tell(value)})`);
  }
  return labels;
}

const aligned = (bytes) => Math.ceil(bytes / report.alignment) * report.alignment;

/** What the arena holds at all moments: the state, and the regions of libraries and kernels. */
function constantValues(last) {
  const states = manifest.plan.buffers.filter((buffer) => buffer.entry === '*');
  const {workspace, scratch} = manifest.arena;
  const values = states.map(
      ({name, kind, at, offset, bytes}) => ({name, kind, at, offset, bytes: aligned(bytes), first: 0, last}));
  const regions = [
    ['workspace of libraries', workspace.bytes],
    ['scratch memory of kernels', scratch.bytes * manifest.target.threads],
  ];
  for (const [name, bytes] of regions)
    if (bytes > 0) values.push({name, kind: workspaceKind, bytes, first: 0, last});
  return values;
}

/** Everything in the arena while an entry function runs, with the bytes of each kind at each moment. */
class Memory {
  constructor(entry) {
    const timeline = manifest.plan.timelines[entry];
    this.last = timeline.last;
    this.peak = timeline.peak;
    this.moments = timeline.moments;
    this.values = [...constantValues(this.last), ...timeline.values];
    this.ofKind = new Map(kinds.map((kind) => [kind, new Array(this.last + 1).fill(0)]));
    for (const {kind, bytes, first, last} of this.values)
      for (let moment = first; moment <= last; ++moment) this.ofKind.get(kind)[moment] += bytes;
  }

  total(moment) { return sum([...this.ofKind.values()].map((bytes) => bytes[moment])); }

  /** Largest first. */
  liveAt(moment) {
    return this.values.filter(({first, last}) => first <= moment && moment <= last).sort((a, b) => b.bytes - a.bytes);
  }

  /** The loops that a moment is in, the outermost first. */
  loopsAt(moment) {
    return this.moments.filter(({at, repeat, end}) => repeat && at <= moment && moment <= end);
  }

  /** What runs at a moment: the last that has begun. */
  runningAt(moment) { return this.moments.filter(({at}) => at <= moment).pop(); }

  describe(moment) {
    const running = this.runningAt(moment);
    if (!running) return 'before all ops';
    const loops = this.loopsAt(moment).map(({name, repeat}) => `${name} × ${repeat} (the iteration with most bytes)`);
    const what = running.repeat ? `begin of the loop over ${running.name}` : running.name;
    const time = running.seconds === undefined ? '' : `, ${formatSeconds(running.seconds)}`;
    return `${running.pass || 'forward'}${loops.length > 0 ? `, in ${loops.join(', ')}` : ''}: ${what}${time}`;
  }

  /** Ranges of moments of one pass, in order. A loop is of one pass, whatever it recomputes. */
  passes() {
    const ranges = [];
    for (const {at, pass = 'forward', end = at} of this.moments) {
      const range = ranges[ranges.length - 1];
      if (range && at <= range.last) continue;
      if (range && range.pass === pass) range.last = end;
      else ranges.push({pass, first: at, last: end});
    }
    return ranges;
  }

  /** By line: the most bytes of values of a kind that are live at once. */
  mostByLine(kind) {
    const changes = new Map();
    for (const value of this.values.filter((value) => value.kind === kind && value.at)) {
      const key = lineKey(value.at);
      if (!changes.has(key)) changes.set(key, new Array(this.last + 2).fill(0));
      changes.get(key)[value.first] += value.bytes;
      changes.get(key)[value.last + 1] -= value.bytes;
    }
    const mostOf = (list) => {
      let now = 0;
      return Math.max(...list.map((change) => (now += change)));
    };
    return new Map([...changes].map(([key, list]) => [key, mostOf(list)]));
  }

  bytesByLine(moment) {
    const bytes = new Map();
    for (const value of this.liveAt(moment))
      if (value.at) bytes.set(lineKey(value.at), (bytes.get(lineKey(value.at)) || 0) + value.bytes);
    return bytes;
  }
}

//----------------------------------------------------------------------------------------------------------------------
// Cost
//----------------------------------------------------------------------------------------------------------------------

/** Bytes of a matrix of a contraction; an axis with the stride 0 is broadcast. */
function matrixBytes(gemm, matrix, type) {
  const strides = gemm[`strides_${matrix}`];
  const sizes = gemm[`dims_${matrix}`].map((size, axis) => (strides[axis] === 0 ? 1 : size));
  return product(sizes) * report.element_bytes[type];
}

/** Flops, and at least how many bytes are read and written, in one call of a contraction. */
function gemmWork(gemm) {
  const result = matrixBytes(gemm, 'c', gemm.result_type || 'f32');
  const operands = matrixBytes(gemm, 'a', gemm.type) + matrixBytes(gemm, 'b', gemm.type_b || gemm.type);
  const further = (gemm.accumulate ? result : 0) + (gemm.aux ? result : 0);
  return {flops: 2 * product(gemm.dims_c) * gemm.dims_a[gemm.dims_a.length - 1], bytes: operands + result + further};
}

/** The pass in which most calls of a kernel are. */
function mainPass(passes, entry) {
  const most = Object.entries(passes || {}).sort((a, b) => b[1] - a[1])[0];
  return entry === 'step' && most ? most[0] : '';
}

function callRow(entry, {at, passes, calls, seconds}, op, kernel, work) {
  const count = calls ? calls[entry] || 0 : undefined;
  const times = (figure) => (figure === undefined || count === undefined ? undefined : figure * count);
  return {
    key: lineKey(at), at: at || '', pass: mainPass(passes, entry), op, kernel, calls: count,
    time: times(seconds), flops: times(work.flops), bytes: times(work.bytes),
  };
}

/** Copies between memory orders: the timeline has them, as no kernel computes them. */
function copyRows(entry) {
  const {moments} = manifest.plan.timelines[entry];
  const around = (at) => moments.filter((loop) => loop.repeat && loop.at <= at && at <= loop.end);
  return moments.filter(({call, repeat, seconds}) => call === undefined && !repeat && seconds !== undefined)
      .map((moment) => {
        const calls = product(around(moment.at).map(({repeat}) => repeat));
        return {
          key: '', at: '', pass: moment.pass || 'forward', op: moment.name, kernel: 'copy', calls,
          time: moment.seconds * calls, flops: 0, bytes: undefined,
        };
      });
}

/** What ranks exchange: `bytes` go to each of the others. */
function exchangeRows(entry) {
  const ranks = new Map((manifest.mesh || []).map(({name, size}) => [name, size]));
  return (manifest.exchanges || []).map((exchange) => callRow(
      entry, exchange, exchange.of, `${exchange.kind} along ${exchange.along}`,
      {flops: 0, bytes: (ranks.get(exchange.along) - 1) * exchange.bytes}));
}

/** What an entry function calls: one row for each kernel, contraction and exchange, with the sums over its calls. */
function costRows(entry) {
  const kernels = manifest.kernels.map((kernel) => callRow(
      entry, kernel, kernel.of, kernel.name, {flops: kernel.flops, bytes: kernel.read + kernel.written}));
  const gemms = manifest.gemms.map((gemm) => callRow(entry, gemm, gemm.name, gemm.implementation || 'GEMM',
                                                     gemmWork(gemm)));
  return [...kernels, ...gemms, ...exchangeRows(entry)].filter(({calls}) => calls === undefined || calls > 0)
      .concat(copyRows(entry));
}

/** The sums of rows: of those that are known, undefined if none is. */
function totals(rows) {
  const total = (figure) => {
    const known = rows.map((row) => row[figure]).filter((value) => value !== undefined);
    return known.length > 0 ? sum(known) : undefined;
  };
  return {time: total('time'), flops: total('flops'), bytes: total('bytes'), calls: total('calls')};
}

const predictionOf = (entry) => manifest.predicted && manifest.predicted.entries[entry];
