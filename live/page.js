// Everything that is shown is set as text: it comes from callers.
'use strict';

const svgSpace = 'http://www.w3.org/2000/svg';
const samples = 300; // that are kept, see sampler.go
const shown = {}; // what stands in each part, so that what has not changed keeps a selection in it

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function draw(tag, attributes, text) {
  const element = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function put(id, data, build) {
  const text = JSON.stringify(data);
  if (shown[id] === text) return;
  shown[id] = text;
  document.getElementById(id).replaceChildren(...build());
}

const grouped = n => Number(n).toLocaleString('en');
const micros = us => us >= 1000 ? (us / 1000).toLocaleString('en', { maximumFractionDigits: 1 }) + ' ms' : grouped(us) + ' µs';
const share = (part, of) => (100 * Math.min(1, part / of)).toLocaleString('en', { maximumFractionDigits: 1 }) + '%';
const rows = list => make('ul', 'rows', ...list);
const row = (name, ...values) => make('li', '', make('span', 'name', name), ...values.map(v => make('span', 'value', v)));
const none = text => make('p', 'none', text);
const tile = (value, label, bad) => make('div', bad ? 'tile bad' : 'tile', make('b', '', value), make('span', '', label));

const width = 360, height = 90, rightEdge = 4, topEdge = 14, bottomEdge = 18; // of a plot

// frame is a plot's axes: the largest value, and how long ago its left end is.
function frame(label, most, unit, step) {
  const svg = draw('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
  const base = height - bottomEdge;
  svg.append(
    draw('line', { x1: 0, x2: width, y1: base, y2: base }),
    draw('text', { x: 0, y: topEdge - 3 }, unit(most)),
    draw('text', { x: 0, y: height - 4 }, `${Math.round(samples * step / 60000)} min ago`),
    draw('text', { x: width - rightEdge, y: height - 4, 'text-anchor': 'end' }, 'now'));
  return svg;
}

const across = (i, n) => (width - rightEdge) * (samples - n + i) / samples;
const up = (value, most) => (height - bottomEdge - topEdge) * Math.min(1, value / most);

function timeline(route, step) {
  const most = Math.max(1, ...route.over);
  const svg = frame(`requests of ${route.key} over time`, most, n => grouped(n) + ' a second', step);
  const bar = (width - rightEdge) / samples + 0.3;
  route.over.forEach((requests, i) => {
    if (!requests) return;
    const refused = Math.min(route.refused[i], requests);
    const x = across(i, route.over.length), base = height - bottomEdge;
    const red = up(refused, most), blue = up(requests - refused, most);
    if (blue > 0) svg.append(draw('rect', { class: 'passed', x, y: base - red - blue, width: bar, height: blue }));
    if (red > 0) svg.append(draw('rect', { class: 'refused', x, y: base - red, width: bar, height: red }));
  });
  return svg;
}

function latency(link, step) {
  const most = Math.max(1, ...link.p99);
  const svg = frame('time of decisions', most, micros, step);
  for (const name of ['p99', 'p50']) {
    let line = '';
    link[name].forEach((value, i) => {
      if (!value) return;
      const at = `${across(i, link[name].length).toFixed(1)} ${(height - bottomEdge - up(value, most)).toFixed(1)}`;
      line += link[name][i - 1] ? `L${at}` : `M${at}h0.1`; // one by itself is a dot
    });
    if (line) svg.append(draw('path', { class: name, d: line }));
  }
  return svg;
}

// more says what else became of requests, in words.
function more(outcomes) {
  const words = {
    shadow_refused: 'would have been refused', open: 'passed without Redis', unavailable: 'got 503 for lack of Redis',
    local_passed: 'passed by the worker alone', local_refused: 'refused by the worker alone', exempt: 'exempt', unlimited: 'passed, since nothing limits them',
  };
  return Object.keys(words).filter(name => outcomes[name] > 0).map(name => `${grouped(outcomes[name])} ${words[name]}`);
}

function card(route, step) {
  const totals = [`${grouped(route.requests)} requests`, `${grouped(route.outcomes.refused)} refused`, ...more(route.outcomes)];
  const element = make('article', 'card', make('h3', 'name', route.key));
  if (!route.declared) {
    element.append(make('p', 'soft', totals.join(', ') + '; not a route of the policy'));
  } else if (route.limits.length === 0) {
    element.append(make('p', 'soft', `${grouped(route.requests)} requests; nothing limits them`));
  } else {
    element.append(make('p', 'soft', totals.join(', ') + '; without Redis: ' + route.on_error));
  }
  element.append(timeline(route, step));
  element.append(rows(route.limits.map(l => {
    const values = [`${grouped(l.outcomes.passed)} passed`];
    if (l.shadow) values.push('shadow', `${grouped(l.outcomes.shadow_refused)} would have been refused`);
    else values.push(`${grouped(l.outcomes.refused)} refused`);
    return row(`${l.name}: ${l.terms} for ${l.identity}`, ...values);
  })));
  return element;
}

// leaseTiles say what leases save; a policy without them has none.
function leaseTiles(l) {
  if (l.taken + l.refused + l.failed === 0) return [];
  const tiles = [tile(grouped(l.taken), 'leases taken'), tile(l.passed ? share(l.spent, l.passed) : '–', 'of what passed was not asked about')];
  if (l.refused) tiles.push(tile(grouped(l.refused), 'leases refused: nothing was left'));
  if (l.failed) tiles.push(tile(grouped(l.failed), 'questions for leases without an answer', true));
  return tiles;
}

function linkParts(link, step) {
  const open = link.breaker_open > 0;
  const failures = link.failures.reduce((sum, f) => sum + f.n, 0);
  const parts = [make('div', 'tiles',
    tile(open ? `open in ${grouped(link.breaker_open)}` : 'closed', open ? 'breaker: these workers do not ask Redis' : 'breaker: Redis is asked', open),
    tile(link.decisions ? '≤ ' + micros(link.median_all) : '–', 'half of all decisions'),
    tile(link.decisions ? '≤ ' + micros(link.p99_all) : '–', '99% of them'),
    tile(grouped(link.decisions), 'decisions timed'),
    tile(grouped(failures), 'questions without an answer', failures > 0),
    tile(grouped(link.deny_hits), 'refused from memory'),
    ...leaseTiles(link.leases),
    tile(grouped(link.streams), 'streams opened'))];
  parts.push(make('p', 'soft', make('span', 'key passed'), ' half, ', make('span', 'key refused'), ' 99% of the decisions were no slower'));
  parts.push(latency(link, step));
  const list = link.failures.map(f => row(f.name, grouped(f.n)));
  if (link.opened) list.push(row('breaker opened', grouped(link.opened)));
  if (link.refunds_lost) list.push(row('refunds lost', grouped(link.refunds_lost)));
  if (link.panics) list.push(row('panics of the module', grouped(link.panics)));
  parts.push(make('h3', '', 'Failures by kind'), list.length ? rows(list) : none('none'));
  return parts;
}

function entries(list, empty) {
  if (list.length === 0) return [none(empty)];
  return [rows(list.map(e => row(e.identity, e.scope, e.of ? `${grouped(e.used)} of ${grouped(e.of)} under ${e.limit}` : `${grouped(e.used)} used`)))];
}

function callers(c) {
  if (!c) {
    put('refused', 'none', () => [none('the keys are being read')]);
    put('used', 'none', () => [none('the keys are being read')]);
    return;
  }
  if (c.problem) {
    put('refused', c.problem, () => [make('p', 'bad', c.problem)]);
    put('used', c.problem, () => []);
    return;
  }
  put('refused', c.refused, () => entries(c.refused, 'nobody'));
  put('used', c.used, () => entries(c.used, 'nobody uses anything now'));
  put('load', [c.keys, c.sample, c.seconds], () => [
    `From ${grouped(c.keys)} ${c.keys === 1 ? 'key' : 'keys'}${c.sample ? ', a sample: there are more' : ''}, read ${grouped(c.seconds)} s ago. ` +
    'Reading takes 2% of the time of each Redis at most, no more than 20,000 keys a round, and only while this page is open.']);
}

function refusal(r) {
  const values = [`${r.route}, ${r.limit}: ${grouped(r.quota)} in ${r.window}`];
  if (r.time) values.unshift(r.time);
  if (r.lines > 1) values.push(`${grouped(r.lines)} times`);
  if (r.shadow) values.push('would have been');
  if (r.local) values.push('by the worker alone');
  if (r.left_out) values.push(`${grouped(r.left_out)} before it not logged`);
  return row(r.identity || `(${r.key}, not logged)`, ...values);
}

function show(state) {
  put('trouble', state.trouble, () => state.trouble ? [make('p', 'trouble', state.trouble)] : []);
  put('warnings', state.warnings, () => state.warnings.map(w => make('p', 'warning', w)));
  put('facts', state.facts, () => [rows(state.facts.map(f => row(f.name, f.value)))]);
  callers(state.callers);
  put('refusals', state.refusals, () => state.refusals.length ? [rows(state.refusals.slice(0, 20).map(refusal))] : [none('none')]);
  put('routes', [state.routes, state.left_out], () => {
    const cards = state.routes.map(r => card(r, state.step));
    if (state.left_out) cards.push(none(`${grouped(state.left_out)} quieter routes are not shown`));
    return cards;
  });
  put('link', state.link, () => linkParts(state.link, state.step));
  say(state.problem || 'live, ' + new Date(state.now).toLocaleTimeString(), state.problem || state.trouble ? 'still' : 'live');
}

function say(text, className) {
  const status = document.getElementById('status');
  status.textContent = text;
  status.className = className;
}

async function turn() {
  try {
    if (!document.hidden) {
      const answer = await fetch('state', { cache: 'no-store' });
      if (!answer.ok) throw new Error(`it answers ${answer.status}`);
      show(await answer.json());
    }
  } catch (error) {
    say('the program does not answer any more: ' + error.message, 'still');
  }
  setTimeout(turn, 1000);
}

turn();
