// elements.js - elements of the page, and numbers as text.
'use strict';

/**
 * Makes an element. Properties are set, `data` becomes data attributes; children are elements or text. Texts of the
 * program come into the page in no other way, so that none of them becomes markup.
 */
function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  const {data, label, ...rest} = properties || {};
  Object.assign(made, rest);
  Object.assign(made.dataset, data);
  if (label) made.setAttribute('aria-label', label);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Terms with their meanings, which are shown on demand. */
function legend(title, terms) {
  return element('details', {className: 'legend'}, element('summary', {}, title), element(
      'dl', {}, terms.flatMap(([term, meaning]) => [element('dt', {}, term), element('dd', {}, meaning)])));
}

/** A bar for a part of a whole, from 0 to 1. */
function bar(part, color) {
  const filled = element('i');
  filled.style.width = `${Math.min(100, 100 * part).toFixed(2)}%`;
  if (color) filled.style.background = color;
  return element('span', {className: 'bar'}, filled);
}

function swatch(color) {
  const made = element('i', {className: 'swatch'});
  made.style.background = color;
  return made;
}

/** Three significant digits, without an exponent. */
function digits(number) {
  if (number === 0) return '0';
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(number)) + 1e-9));
  return number.toFixed(Math.min(decimals, 3));
}

function scaled(number, base, units) {
  let unit = 0;
  for (; Math.abs(number) >= base * 0.9995 && unit + 1 < units.length; ++unit) number /= base;
  return `${unit === 0 ? Math.round(number) : digits(number)} ${units[unit]}`.trim();
}

const unknown = '–';
const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const formatBytes = (bytes) => scaled(bytes, 1024, byteUnits);
const formatCount = (count) => scaled(count, 1000, ['', 'k', 'M', 'G', 'T', 'P', 'E']);

/** Formats bytes in the unit that suits `most`, so that figures can be compared at sight. */
function bytesInUnitOf(most) {
  const unit = formatBytes(most).split(' ').pop();
  return (bytes) => (bytes === 0 ? '0' : `${Number((bytes / 1024 ** byteUnits.indexOf(unit)).toPrecision(3))} ${unit}`);
}

function formatSeconds(seconds) {
  if (seconds === undefined) return unknown;
  if (seconds === 0) return '0 s';
  for (const [unit, size] of [['s', 1], ['ms', 1e-3], ['µs', 1e-6]])
    if (seconds >= 0.9995 * size) return `${digits(seconds / size)} ${unit}`;
  return `${digits(seconds * 1e9)} ns`;
}

function formatPart(part) {
  if (part === undefined || Number.isNaN(part)) return unknown;
  return part > 0 && part < 0.0005 ? '< 0.1 %' : `${(100 * part).toFixed(1)} %`;
}
