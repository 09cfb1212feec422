// memory.js - what is in the arena, moment by moment.
'use strict';

const colorOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const kindColor = (kind) => colorOf(`--kind-${kinds.indexOf(kind)}`);

/** Marks of an axis: multiples of about a part of the largest value, round in its unit. */
function roundTicks(most, count, base, factors) {
  const unit = base ** Math.max(0, Math.floor(Math.log(most / count) / Math.log(base)));
  const step = unit * [...factors, base].find((factor) => factor * unit >= most / count);
  return Array.from({length: Math.floor(most / step) + 1}, (_, i) => ({value: i * step}));
}
const byteTicks = (most) => roundTicks(most, 5, 1024, [1, 2, 5, 10, 20, 50, 100, 256, 512]);
const momentTicks = (last) => roundTicks(last, 8, 10, [1, 2, 5]);

//----------------------------------------------------------------------------------------------------------------------
// The chart
//----------------------------------------------------------------------------------------------------------------------

/** Draws a line of text in the middle of a range, if it fits. */
function drawLabel(context, text, left, right, y) {
  if (context.measureText(text).width > right - left - 4) return;
  context.textAlign = 'center';
  context.fillText(text, (left + right) / 2, y);
}

function drawRange(context, {left, right}, text, y) {
  context.beginPath();
  context.moveTo(left + 1, y + 4);
  context.lineTo(Math.max(left + 2, right - 1), y + 4);
  context.stroke();
  drawLabel(context, text, left, right, y);
}

function drawVertical(context, x, {top, bottom}, dashes) {
  context.save();
  context.setLineDash(dashes);
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, bottom);
  context.stroke();
  context.restore();
}

/** A text beside a vertical line, at its lower end. */
function drawTag(context, text, x, {left, right, bottom}) {
  const width = context.measureText(text).width + 10;
  const start = x > (left + right) / 2 ? x - width - 4 : x + 4;
  context.save();
  context.fillStyle = colorOf('--panel');
  context.fillRect(start, bottom - 26, width, 18);
  context.restore();
  context.textAlign = 'left';
  context.fillText(text, start + 5, bottom - 13);
}

/** Passes, loops, the peak and the chosen moment, around and over the areas. */
const annotations = {
  id: 'annotations',
  afterDatasetsDraw(chart) {
    const {ctx: context, chartArea: area, scales} = chart;
    const memory = shownMemory();
    const across = (first, last) => ({
      left: scales.x.getPixelForValue(first - edge),
      right: scales.x.getPixelForValue(last + edge),
    });
    context.save();
    context.font = '12px system-ui, sans-serif';
    context.strokeStyle = context.fillStyle = colorOf('--quiet');
    for (const {pass, first, last} of memory.passes()) drawRange(context, across(first, last), pass, area.top - 36);
    for (const {name, repeat, at, end} of memory.moments) {
      if (!repeat) continue;
      const range = across(at, end);
      const depth = memory.loopsAt(at).length - 1;
      drawRange(context, range, `${name} × ${repeat}`, area.top - 14 + 7 * depth);
      for (const x of [range.left, range.right]) drawVertical(context, x, area, [2, 3]);
    }
    context.strokeStyle = context.fillStyle = colorOf('--text');
    const peak = scales.x.getPixelForValue(memory.peak);
    drawVertical(context, peak, area, [6, 4]);
    drawTag(context, `peak ${formatBytes(memory.total(memory.peak))}`, peak, area);
    const arena = scales.y.getPixelForValue(manifest.arena.bytes);
    const moment = shownMoment();
    if (moment !== memory.peak) drawVertical(context, scales.x.getPixelForValue(moment), area, []);
    context.strokeStyle = context.fillStyle = colorOf('--quiet');
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(area.left, arena);
    context.lineTo(area.right, arena);
    context.stroke();
    context.textAlign = 'right';
    context.fillText(`arena ${formatBytes(manifest.arena.bytes)}`, area.right - 4, arena - 4);
    context.restore();
  },
};

/** The largest values at the moment under the pointer. */
function showTooltip(box, {chart, tooltip}) {
  box.hidden = tooltip.opacity === 0 || !tooltip.dataPoints;
  if (box.hidden) return;
  const moment = momentOfPoint(tooltip.dataPoints[0].dataIndex);
  const memory = shownMemory();
  const live = memory.liveAt(moment);
  const labels = labelsOf(live);
  const largest = live.slice(0, 8).map((value) => element(
      'tr', {}, element('td', {}, swatch(kindColor(value.kind)), labels.get(value)),
      element('td', {className: 'number'}, formatBytes(value.bytes))));
  box.replaceChildren(
      element('b', {}, `${formatBytes(memory.total(moment))} at moment ${moment}`),
      element('div', {}, memory.describe(moment)),
      element('table', {}, largest));
  const isLeft = tooltip.caretX < chart.width / 2;
  box.style.left = isLeft ? `${tooltip.caretX + 16}px` : '';
  box.style.right = isLeft ? '' : `${chart.width - tooltip.caretX + 16}px`;
}

/** A moment reaches this far to both sides. Steps are points of their own, since areas between lines that Chart.js
 *  makes steps of have slopes at their lower sides; no two points may have one place. */
const edge = 0.499;
const momentOfPoint = (index) => Math.floor(index / 2);

function areas(memory) {
  const shown = kinds.filter((kind) => memory.ofKind.get(kind).some((bytes) => bytes > 0));
  return shown.map((kind) => ({
    label: kind,
    data: memory.ofKind.get(kind).flatMap((y, moment) => [{x: moment - edge, y}, {x: moment + edge, y}]),
    fill: 'stack',
    backgroundColor: kindColor(kind),
    borderWidth: 0,
    pointRadius: 0,
    pointHoverRadius: 0,
  }));
}

function makeChart(canvas, box) {
  const memory = shownMemory();
  const quiet = colorOf('--quiet');
  const most = Math.max(manifest.arena.bytes, memory.total(memory.peak)) * 1.04;
  return new Chart(canvas, {
    type: 'line',
    data: {datasets: areas(memory)},
    plugins: [annotations],
    options: {
      animation: false,
      parsing: false,
      normalized: true,
      maintainAspectRatio: false,
      layout: {padding: {top: 52, right: 4}},
      interaction: {mode: 'index', intersect: false, axis: 'x'},
      onClick: (event, points) => points.length > 0 && changeView({moment: momentOfPoint(points[0].index)}),
      plugins: {legend: {display: false}, tooltip: {enabled: false, external: (shown) => showTooltip(box, shown)}},
      scales: {
        x: {
          type: 'linear', min: -edge, max: memory.last + edge, grid: {display: false}, ticks: {color: quiet},
          afterBuildTicks: (scale) => { scale.ticks = momentTicks(memory.last); },
          title: {
            display: true, color: quiet, text: 'moments in program order; of a loop, the iteration with most bytes',
          },
        },
        y: {
          stacked: true, min: 0, max: most, grid: {color: colorOf('--line')},
          ticks: {color: quiet, callback: bytesInUnitOf(most)},
          afterBuildTicks: (scale) => { scale.ticks = byteTicks(most); },
        },
      },
    },
  });
}

//----------------------------------------------------------------------------------------------------------------------
// What is live
//----------------------------------------------------------------------------------------------------------------------

function kindRows(memory, moment) {
  const total = memory.total(moment);
  const live = kinds.map((kind) => ({kind, bytes: memory.ofKind.get(kind)[moment]})).filter(({bytes}) => bytes > 0);
  return live.sort((a, b) => b.bytes - a.bytes).map(({kind, bytes}) => element(
      'tr', {data: {kind, bytes}}, element('td', {}, swatch(kindColor(kind)), kind),
      element('td', {className: 'number'}, formatBytes(bytes)),
      element('td', {className: 'number'}, formatPart(bytes / total)),
      element('td', {className: 'wide'}, bar(bytes / total, kindColor(kind)))));
}

function valueRows(memory, moment) {
  const total = memory.total(moment);
  const live = memory.liveAt(moment);
  const labels = labelsOf(live);
  return live.map((value) => {
    const {kind, at, bytes} = value;
    const label = labels.get(value);
    const whole = `${label}: ${kind}${at && !label.includes(at) ? `, ${at}` : ''}`;
    return element('tr', {title: whole}, element('td', {className: 'name'}, swatch(kindColor(kind)), label),
                   element('td', {className: 'quiet'}, kind), element('td', {className: 'number'}, formatBytes(bytes)),
                   element('td', {className: 'number'}, formatPart(bytes / total)));
  });
}

/** "optimizer 50 %, parameter 25 % and gradient 20 %": the kinds that together hold nine tenths, three at most. */
function describeShares(memory, moment) {
  const total = memory.total(moment);
  const shares = kinds.map((kind) => ({kind, part: memory.ofKind.get(kind)[moment] / total}))
      .sort((a, b) => b.part - a.part);
  const told = [];
  for (const share of shares) {
    if (told.length === 3 || sum(told.map(({part}) => part)) > 0.9) break;
    told.push(share);
  }
  return told.map(({kind, part}) => `${kind} ${(100 * part).toFixed(0)} %`).join(', ');
}

function holders(memory, moment) {
  const isPeak = moment === memory.peak;
  const back = element('button', {onclick: () => changeView({moment: undefined})}, 'show the peak');
  return [
    element('h3', {}, isPeak ? 'What holds the peak' : `What is live at moment ${moment}`, isPeak ? null : back),
    element('p', {className: 'quiet'}, memory.describe(moment)),
    element('table', {id: 'kinds'}, element('tbody', {}, kindRows(memory, moment))),
    element('div', {className: 'scroll'}, element('table', {id: 'values'}, element(
        'thead', {}, element('tr', {}, ['value', 'kind', 'bytes', 'share'].map((title, i) => element(
            'th', {className: i > 1 ? 'number' : ''}, title)))), element('tbody', {}, valueRows(memory, moment)))),
  ];
}

function explainMemory() {
  return legend('What the chart and the list show', [
    ['moment', 'a kernel, contraction or copy of the entry function, in program order; address #entry=…&moment=…'],
    ['loop × n', 'its body is drawn once. Of the n iterations it is the one with most live bytes: a stack with a ' +
        'value of each iteration has all of its bytes in every iteration, unless the loop empties it while it fills ' +
        'another; then both have the bytes of that iteration'],
    ['saved', 'the kind of values of the forward pass that the backward pass reads; the other kinds likewise say ' +
        'what values are for'],
    ['(…) after a value', 'tells values of one name apart: the line, the moments, or the place in the arena'],
    ['share', 'of all bytes that are live at the moment'],
  ]);
}

function showMemory(section) {
  const title = element('h2');
  const summary = element('p', {id: 'peak'});
  const canvas = element('canvas', {label: 'Live bytes by kind at each moment'});
  canvas.setAttribute('role', 'img');
  const tooltip = element('div', {className: 'tooltip', hidden: true});
  const list = element('div', {className: 'holders'});
  section.append(title, summary,
                 element('div', {className: 'beside'}, element('div', {className: 'chart'}, canvas, tooltip), list),
                 explainMemory());
  let chart, drawn, listed;
  const draw = () => {
    if (chart) chart.destroy();
    chart = makeChart(canvas, tooltip);
    drawn = shownEntry();
  };
  const update = () => {
    const shown = `${shownEntry()} ${shownMoment()}`;
    if (shown === listed) return;
    listed = shown;
    const memory = shownMemory();
    const peak = memory.total(memory.peak);
    title.textContent = `Memory during ${shownEntry()}`;
    summary.replaceChildren(
        element('b', {}, `${formatBytes(peak)} at the peak: ${describeShares(memory, memory.peak)}.`),
        ` It is at moment ${memory.peak} of ${memory.last} (${memory.describe(memory.peak)}). `,
        'Point at the chart to see the largest values of a moment; click to list them all.');
    list.replaceChildren(...holders(memory, shownMoment()));
    drawn === shownEntry() ? chart.draw() : draw();
  };
  onViewChange.push(update);
  update();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    draw();
    listed = undefined;
    update();
  });
}
