// plans.js - memory against time: the plans of recomputation, and what layers save.
'use strict';

const plansOf = () => (report.plan && report.plan.memory) || null;

/** Longer than without recomputation: "+4.1 %". */
function formatLonger(part) {
  return part === null ? unknown : `${part < 0 ? '−' : '+'}${(100 * Math.abs(part)).toFixed(1)} %`;
}

//----------------------------------------------------------------------------------------------------------------------
// The chart
//----------------------------------------------------------------------------------------------------------------------

/** The chosen plan, and the memory of the device where it is within the chart. */
const planMarks = {
  id: 'planMarks',
  afterDatasetsDraw(chart) {
    const {ctx: context, chartArea: area, scales} = chart;
    const {frontier} = plansOf();
    context.save();
    context.font = '12px system-ui, sans-serif';
    context.strokeStyle = context.fillStyle = colorOf('--text');
    const mark = (bytes, text, dashes) => {
      const x = scales.x.getPixelForValue(bytes);
      if (x < area.left || x > area.right) return;
      drawVertical(context, x, area, dashes);
      drawTag(context, text, x, area);
    };
    const chosen = frontier.find((plan) => plan.chosen);
    if (chosen) mark(chosen.bytes, `this program: ${formatBytes(chosen.bytes)}`, [6, 4]);
    const {memory, name} = report.plan.device;
    if (memory !== null) mark(memory, `${name}: ${formatBytes(memory)}`, [2, 3]);
    context.restore();
  },
};

function showPlanTooltip(box, {chart, tooltip}) {
  box.hidden = tooltip.opacity === 0 || !tooltip.dataPoints;
  if (box.hidden) return;
  const plan = plansOf().frontier[tooltip.dataPoints[0].dataIndex];
  const time = plan.seconds === null ? '' : `, ${formatSeconds(plan.seconds)} a step`;
  box.replaceChildren(element('b', {}, `--memory=${plan.memory}`),
                      element('div', {}, `${formatLonger(plan.longer)} longer${time}`),
                      element('div', {}, `recomputes ${plan.what}`));
  const isLeft = tooltip.caretX < chart.width / 2;
  box.style.left = isLeft ? `${tooltip.caretX + 16}px` : '';
  box.style.right = isLeft ? '' : `${chart.width - tooltip.caretX + 16}px`;
}

/** Marks of an axis of bytes that does not begin at 0. */
function rangeTicks(least, most) {
  const step = byteTicks(most - least)[1].value;
  const first = Math.ceil(least / step);
  return Array.from({length: Math.floor(most / step) - first + 1}, (_, i) => ({value: (first + i) * step}));
}

function makePlanChart(canvas, box) {
  const {frontier} = plansOf();
  const [quiet, accent, text] = ['--quiet', '--accent', '--text'].map(colorOf);
  const amounts = frontier.map(({bytes}) => bytes);
  const edge = 0.08 * (Math.max(...amounts) - Math.min(...amounts));
  const [least, most] = [Math.max(0, Math.min(...amounts) - edge), Math.max(...amounts) + edge];
  const perPlan = (chosen, other) => frontier.map((plan) => (plan.chosen ? chosen : other));
  return new Chart(canvas, {
    type: 'scatter',
    data: {datasets: [{
      data: frontier.map(({bytes, longer}) => ({x: bytes, y: 100 * (longer || 0)})),
      showLine: true, borderColor: accent, borderWidth: 1.5, stepped: 'after',
      pointRadius: perPlan(7, 3.5), pointHoverRadius: perPlan(8, 6), pointBackgroundColor: perPlan(text, accent),
      pointBorderWidth: 0,
    }]},
    plugins: [planMarks],
    options: {
      animation: false,
      maintainAspectRatio: false,
      layout: {padding: {top: 10, right: 12}},
      interaction: {mode: 'nearest', intersect: false, axis: 'xy'},
      plugins: {legend: {display: false}, tooltip: {enabled: false, external: (shown) => showPlanTooltip(box, shown)}},
      scales: {
        x: {
          type: 'linear', min: least, max: most, grid: {color: colorOf('--line')},
          ticks: {color: quiet, callback: bytesInUnitOf(most)},
          afterBuildTicks: (scale) => { scale.ticks = rangeTicks(least, most); },
          title: {display: true, color: quiet, text: 'memory of the program'},
        },
        y: {
          grid: {color: colorOf('--line')}, ticks: {color: quiet, callback: (value) => `${value} %`},
          title: {display: true, color: quiet, text: 'longer step than without recomputation'},
        },
      },
    },
  });
}

//----------------------------------------------------------------------------------------------------------------------
// Tables
//----------------------------------------------------------------------------------------------------------------------

function planTable({frontier}) {
  const titles = ['--memory', 'arena', 'step', 'longer', 'recomputes'];
  const row = (plan) => element(
      'tr', {className: plan.chosen ? 'chosen' : ''}, element('td', {className: 'number'}, plan.memory),
      element('td', {className: 'number'}, formatBytes(plan.arena)),
      element('td', {className: 'number'}, plan.seconds === null ? unknown : formatSeconds(plan.seconds)),
      element('td', {className: 'number'}, formatLonger(plan.longer)),
      element('td', {}, plan.what, plan.chosen ? element('b', {}, ' (this program)') : null));
  return element('table', {id: 'plan-table'}, element('thead', {}, element('tr', {}, titles.map((title, i) => element(
      'th', {className: i < 4 ? 'number' : ''}, title)))), element('tbody', {}, frontier.map(row)));
}

function describeChange({saved, alternative}) {
  if (!alternative) return ['', unknown, unknown];
  const {seconds, bytes} = alternative;
  const signed = (number, format) => `${number < 0 ? '−' : '+'}${format(Math.abs(number))}`;
  return [saved > 0 ? 'recompute' : 'save', signed(seconds, formatSeconds), signed(bytes, formatBytes)];
}

function valueTable({values}) {
  const titles = ['value of layers', 'bytes', 'saved', 'recomputed', 'instead', 'longer step', 'memory'];
  const layersOf = (count, value) => (count === 0 ? '' : `${value.axis} × ${count}`);
  const row = (value) => {
    const [instead, time, bytes] = describeChange(value);
    return element(
        'tr', {title: value.path ? `--save=${value.path} or --recompute=${value.path}` : ''},
        element('td', {className: 'name'}, value.name),
        element('td', {className: 'number'}, formatBytes(value.bytes)),
        element('td', {className: 'number'}, layersOf(value.saved, value)),
        element('td', {className: 'number'}, layersOf(value.recomputed, value)),
        element('td', {className: 'quiet'}, instead), element('td', {className: 'number'}, time),
        element('td', {className: 'number'}, bytes));
  };
  return element('div', {className: 'scroll tall'}, element(
      'table', {id: 'layer-values'}, element('thead', {}, element('tr', {}, titles.map((title, i) => element(
          'th', {className: [1, 2, 3, 5, 6].includes(i) ? 'number' : ''}, title)))),
      element('tbody', {}, values.map(row))));
}

function explainPlans() {
  return legend('What the chart and the tables show', [
    ['--memory', 'an option of the compiler: with this amount or more the program takes the plan, or a faster one'],
    ['recomputes', 'layer x 8 of 12: 9 of 14 ops means that the first 8 layers of 12 save what is left when 9 of the ' +
        '14 ops of a layer are computed again; segments are layers that are computed again together'],
    ['bytes', 'of the value in all layers'],
    ['instead', 'what it changes if the value were recomputed where it is saved, or, if no layer saves it, saved: ' +
        'with what else it needs. --recompute and --save do that; they take the name without its last word'],
  ]);
}

/** What recomputation offers, if the compiler looked for it. */
function showPlans(section) {
  const memory = plansOf();
  if (!memory || memory.frontier.length < 2) return;
  const canvas = element('canvas', {label: 'Memory and time of a step with each plan'});
  canvas.setAttribute('role', 'img');
  const tooltip = element('div', {className: 'tooltip', hidden: true});
  section.append(
      element('h2', {}, 'Memory against time'),
      element('p', {}, 'What the backward pass reads is saved, or computed again. Each point is a plan that no other ',
              'one beats; results are the same with all of them, bit for bit.'),
      element('div', {className: 'beside'}, element('div', {className: 'chart low'}, canvas, tooltip),
              element('div', {className: 'scroll low'}, planTable(memory))),
      element('h3', {}, 'What layers save for the backward pass'), valueTable(memory), explainPlans());
  let chart;
  const draw = () => {
    if (chart) chart.destroy();
    chart = makePlanChart(canvas, tooltip);
  };
  draw();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
}
