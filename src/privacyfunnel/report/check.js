// Does a protocol keep its promise? The same check as publishing/check.py, in whole numbers (BigInt), in this page.
// A row with the values x is released as y in q[y,x] of 2^32 draws; N[s,x] people have the secret s and the values x.
//   A[s] = sum over x of N[s,x] q[y,x],   B = sum of A,   n[s] = sum over x of N[s,x],   m = sum of n
//   rise:  A[s] m <= e^eps n[s] B      fall: n[s] B <= e^eps A[s] m
//   apart: A[s] n[t] <= e^eps n[s] A[t]      belief: A[s] <= b B
// Nothing is loaded but protocol.json, and nothing is sent anywhere.
"use strict";
(() => {
  const UNIT = 2n ** 32n, BITS = 256n, PERFECT = 1e-8, LUCK = 1e-15, OUTWARDS = 1e-9, LEFT = "NOT DECIDED";
  const BOTH = ["rise", "fall"], ORDERED = ["bins", "integer", "number", "year", "month", "day"];
  const KINDS = {lip: BOTH, srlip: BOTH, perfect: BOTH, alip: BOTH, pml: ["rise"], ldp: ["apart"], srldp: ["apart"]};

  const FILE = "schema guarantee promise fitted people at_least secret secret_readings objective how utility_nats "
    + "upper_bound_nats entropy_nats likeness precision aim noise chain before digest";
  const NOISE = "of epsilon delta people declared choosing attributes combinations counts";
  const COLUMN = "name kind edges missing about written labels other groups";
  const WRITTEN = ["", "point", "comma", "dmy", "mdy", "ymd", "hours"];
  const FILL_NOISE = "epsilon delta choosing sigma tables", FILLED = "name parents weights counts";
  const INSIDE = "name grid decimals column parts counts ends";
  const PROMISES = {
    lip: "epsilon", pml: "epsilon", ldp: "epsilon", srlip: "epsilon known", srldp: "epsilon known", alip: "lower upper", perfect: "",
    belief: "most places share", promises: "each sizes", ordered: "promise per_value unordered",
    robust: "promise confidence within chains chosen",
  };
  const STEPS = {
    channel: "step columns values outputs channel labels marginal draw nearest variants exact",
    by_history: "step columns values nearest histories inputs channel marginal",
    by_model: "step columns tables exponent factors rule groups",
    fill: "step filled inside order never noise",
  };

  class Stop extends Error {
    constructor(verdict, why) { super(why); this.verdict = verdict; }
  }
  const need = (condition, otherwise) => { if (!condition) throw new Stop("BROKEN", otherwise); };
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0n);
  const within = (some, all) => Object.keys(some).every((key) => all.split(" ").includes(key));
  const range = (size) => Array.from({length: size}, (_, i) => i);
  const smaller = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const different = (some) => new Set(some.map(String)).size === some.length;
  const product = (sizes) => sizes.reduce((all, size) => all.flatMap((x) => range(size).map((i) => [...x, i])), [[]]);

  // ---- the file: JSON in the one form in which Python writes it; whole numbers become BigInt, others {text, value}

  const slices = new WeakMap();  // of every object: its entries as they stand in the text

  function parse(text) {
    let at = 0;
    const token = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\bfnrt]|u[0-9a-f]{4}))*"|-?\d[\d.e+-]*|true|false|null/y;
    const eat = (sign) => { need(text.startsWith(sign, at), "the file was changed after it was written"); at += sign.length; };
    function list(open, close, comma, one) {
      eat(open);
      if (text.startsWith(close, at)) { at += close.length; return; }
      for (one(); !text.startsWith(close, at); one()) eat(comma);
      at += close.length;
    }
    function object(open, close, comma) {
      const found = Object.create(null), raw = [];
      list(open, close, comma, () => {
        const key = value();
        if (key in found) throw new Stop("UNREADABLE", "an entry stands twice in the file");
        eat(": ");
        const start = at;
        found[key] = value();
        raw.push([key, text.slice(start, at)]);
      });
      slices.set(found, raw);
      return found;
    }
    function value() {
      if (text[at] === "{") return object("{", "}", ", ");
      if (text[at] === "[") {
        const found = [];
        list("[", "]", ", ", () => { found.push(value()); });
        return found;
      }
      token.lastIndex = at;
      const own = token.exec(text)?.[0];
      need(own !== undefined, "the file was changed after it was written");
      at += own.length;
      if (/^(-?[1-9]\d*|0)$/.test(own)) {
        if (own.length > 4300) throw new Stop("UNREADABLE", "a number in it is too long");
        return BigInt(own);
      }
      const found = JSON.parse(own);
      if (typeof found === "number") {
        need(written(found) === own, "the file was changed after it was written");
        return {text: own, value: found};
      }
      need(typeof found !== "string" || JSON.stringify(found) === own, "the file was changed after it was written");
      return found;
    }
    const found = object("{\n", "\n}\n", ",\n");
    need(at === text.length, "the file was changed after it was written");
    return found;
  }

  function written(number) {  // as Python writes it
    if (Object.is(number, -0)) return "-0.0";
    const [, minus, digits, power] = /^(-?)([\d.]+)e([+-]\d+)$/.exec(number.toExponential());
    const plain = digits.replace(".", ""), places = Number(power);
    if (places < -4 || places >= 16) return `${minus}${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
    if (places < 0) return `${minus}0.${"0".repeat(-places - 1)}${plain}`;
    const whole = plain.padEnd(places + 1, "0");
    return `${minus}${whole.slice(0, places + 1)}.${whole.slice(places + 1) || "0"}`;
  }

  function digestOf(file) {
    const lines = slices.get(file).filter(([key]) => key !== "digest").map(([key, raw]) => `"${key}": ${raw}`);
    return `sha256:${sha256(new TextEncoder().encode(`{\n${lines.join(",\n")}\n}\n`))}`;
  }

  function sha256(bytes) {
    const primes = range(312).filter((n) => n > 1 && range(n).every((k) => k < 2 || n % k));
    const root = (n, k) => ((n ** (1 / k)) % 1) * 2 ** 32 | 0;
    const K = primes.map((p) => root(p, 3)), H = primes.slice(0, 8).map((p) => root(p, 2));
    const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6), words = new DataView(padded.buffer);
    padded.set(bytes);
    padded[bytes.length] = 128;
    words.setBigUint64(padded.length - 8, 8n * BigInt(bytes.length));
    const W = new Int32Array(64), turn = (x, k) => (x >>> k) | (x << (32 - k));
    for (let start = 0; start < padded.length; start += 64) {
      let [a, b, c, d, e, f, g, h] = H;
      for (let i = 0; i < 64; i++) {
        const v = W[i - 15], w = W[i - 2];
        W[i] = i < 16 ? words.getInt32(start + 4 * i)
          : W[i - 16] + (turn(v, 7) ^ turn(v, 18) ^ (v >>> 3)) + W[i - 7] + (turn(w, 17) ^ turn(w, 19) ^ (w >>> 10));
        const one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + W[i];
        const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        [a, b, c, d, e, f, g, h] = [one + two | 0, a, b, c, d + one | 0, e, f, g];
      }
      [a, b, c, d, e, f, g, h].forEach((x, i) => { H[i] = H[i] + x | 0; });
    }
    return H.map((x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
  }

  function checkColumn(one) {  // a column must say without a doubt as what its entries are read
    const {labels, kind, edges, missing, other} = one, groups = one.groups ?? [], texts = (some) => some.every((x) => typeof x === "string");
    need(within(one, COLUMN) && [...ORDERED, "text", "boolean"].includes(kind), "a column that is none");
    const label = (own) => (typeof own === "string" ? own : String(Number(own?.value ?? own ?? NaN)));
    need(labels.length > 0 && different(labels.map((own) => [own === null, typeof own === "string", label(own)])), "a label is there twice");
    const own = labels.filter((x) => x !== null && !(other && x === "other")), isInteger = (x) => typeof x === "bigint";
    const isNumber = (x) => isInteger(x) || typeof x?.value === "number";
    const fits = {boolean: (x) => typeof x === "boolean", integer: isInteger, number: isNumber}[kind] ?? ((x) => typeof x === "string");
    need(own.every(fits), "a label is not of its column's kind");
    need(typeof other === "boolean" && (!other || labels.includes("other")), "a column of others without them");
    const said = [...missing, one.about ?? ""];
    need(texts(said) && said.every((x) => [...x].length <= 1000), "a column is read in a way that is none");
    need(WRITTEN.includes(one.written ?? ""), "a column is written in a way that is none");
    const ends = edges.map((x) => (isInteger(x) ? Number(x) : x?.value)), rise = ends.every((x, i) => i === 0 || ends[i - 1] < x);
    const inPlace = edges.every(isNumber) && ends.length === own.length + 1 && own.every((x, i) => labels[i] === x);
    need(kind !== "bins" || (rise && inPlace), "ranges that are none");
    need(groups.every((group) => String(Object.keys(group).sort()) === "label,values"), "groups of values that are none");
    const names = groups.map((group) => group.label), members = groups.flatMap((group) => group.values), gone = [...missing, ""];
    const apart = different([...names, ...members]) && !members.some((x) => labels.includes(x) || gone.includes(x));
    const alone = !names.some((x) => gone.includes(x)) && names.every((x) => own.includes(x)) && (kind === "text" || !groups.length);
    need(texts([...names, ...members]) && apart && alone && groups.every((group) => group.values.length), "groups of values that are none");
  }

  const keys = (some, all) => String(Object.keys(some).sort()) === String(all.split(" ").sort());

  function checkFill(fill, file, read) {  // filled columns must be drawn from what is released of the row, and from nothing else
    const {noise, filled, inside, order} = fill, sizes = new Map(file.chain[0].columns.map((one) => [one.name, one.labels.length]));
    const names = [...sizes.keys(), ...filled.map((one) => one.name)], whose = inside.map((one) => one.name);
    need(different(names) && String([...order].sort()) === String([...names].sort()), "columns filled twice, or not told");
    need(file.noise === null || !names.some((name) => read.includes(name)), "the secret itself is released");
    const own = keys(noise, FILL_NOISE) && file.fitted === "private counts" && file.before === null;
    need(own && noise.tables === BigInt(filled.length + inside.length), "the noise of filled columns is not that of their tables");
    const [epsilon, choosing, sigma, delta] = [noise.epsilon, noise.choosing, noise.sigma, noise.delta].map((one) => number(one));
    need(epsilon > 0 && epsilon >= choosing && sigma >= 1 && delta > 0 && delta < 1, "there is no such noise");
    const MOST = 2n ** 53n, LARGEST = 2n ** 62n;
    for (const one of filled) {
      need(keys(one, FILLED), "entries that no filled column has");
      need(one.parents.every((name) => sizes.has(name)) && different(one.parents), "a column is filled given another that is not drawn before");
      const size = one.weights[0].length, rows = one.parents.reduce((all, name) => all * sizes.get(name), 1);
      need(one.weights.length === rows && one.counts.length === rows, "a filled column does not fit its parents");
      one.weights.forEach((row) => need(row.length === size && sum(whole(row, 0n, UNIT, "a filled column")) === UNIT, "a filled column: no parts of 2^32"));
      one.counts.forEach((row) => need(whole(row, -MOST, MOST, "noisy counts").length === size, "the counts of a filled column do not fit"));
      sizes.set(one.name, size);
    }
    need(different(whose) && whose.every((name) => names.includes(name)), "values of columns that are none");
    need(filled.every((one) => whose.includes(one.name)), "it is not said how a filled column is written");
    for (const one of inside) {
      need(keys(one, INSIDE) && (one.column ?? one).name === one.name, "entries that the values of no column have");
      const each = new Array(sizes.get(one.name)).fill(0n);
      for (const part of one.parts) {
        const [code, first, last, weight] = whole(part, -LARGEST, LARGEST, "parts");
        need(part.length === 4 && code >= 0n && code < BigInt(each.length) && first <= last && weight >= 0n, "a part of a value is none");
        each[Number(code)] += weight;
      }
      need(each.every((weight) => weight === 0n || weight === UNIT), "the parts of a value do not add up");
      const counts = whole(one.counts, -MOST, MOST, "noisy counts").length, ends = whole(one.ends, 0n, MOST, "ends"), least = one.parts.length;
      need(least <= counts && counts <= least + 1 && ends.length === 2 && sum(ends) <= BigInt(least), "the counts of parts do not fit");
    }
  }

  function releases(file) {  // all releases, the first one first, each under its digest
    need(file.digest === digestOf(file), "the file was changed: its digest does not fit");
    const kinds = file.chain.map((one) => one.step);
    need(kinds[0] !== "fill" && ["", "fill"].includes(String(kinds.slice(1))), "the steps do not fit together");
    const read = file.secret_readings.map((one) => one.name);
    need(!read.length || file.secret === read.join(" and "), "the secret that is named is not the one that is read");
    need(file.noise === null || !file.chain[0].columns.some((one) => read.includes(one.name)), "the secret itself is released");
    need(keys(file, FILE) && file.chain.every((one) => keys(one, STEPS[one.step])), "entries that no protocol has");
    need((file.before === null) === (file.chain[0].step !== "by_history"), "the steps do not fit together");
    for (const fill of file.chain.slice(1)) checkFill(fill, file, read);
    if (file.before === null) return [file];
    const texts = (one) => one.secret_readings.map((reading) => JSON.stringify(slices.get(reading)));
    need(texts(file.before).every((one) => texts(file).includes(one)), "releases about other secrets");
    return [...releases(file.before), file];
  }

  // ---- numbers

  function whole(values, least, most, what) {
    const fit = Array.isArray(values) && values.every((v) => typeof v === "bigint" && least <= v && v <= most);
    need(fit, `${what}: not whole numbers in their range`);
    return values;
  }
  const places = (values, most, what) => whole(values, 0, most, what).map(Number);
  function number(value, most = Number.MAX_VALUE) {
    const found = typeof value === "bigint" ? Number(value) : value?.value;
    need(typeof found === "number" && found >= 0 && found <= most, "a level is no finite number from 0 on");
    return found;
  }
  function fraction(x) {  // of a float, exactly
    let under = 1n;
    for (; !Number.isInteger(x); x *= 2) under *= 2n;
    return [BigInt(x), under];
  }
  function decimal(text) {  // of a number as it is written: 0.05 is 1/20
    const [digits, power] = text.split("e"), [, behind = ""] = digits.split(".");
    const shift = Number(power ?? 0) - behind.length, over = BigInt(digits.replace(".", ""));
    return shift < 0 ? [over, 10n ** BigInt(-shift)] : [over * 10n ** BigInt(shift), 1n];
  }
  function eBelow(over, under) {  // a fraction below e^(over/under): Taylor's series, squared, all of it rounded down
    if (over > 10000n * under) [over, under] = [10000n, 1n];
    let k = 0;
    for (; 2n * over >= under; under *= 2n) k++;
    const x = (over << BITS) / under;
    let total = 0n;
    for (let i = 1n, term = 1n << BITS; term; i++) {
      total += term;
      term = (term * x / i) >> BITS;
    }
    for (; k; k--) total = total * total >> BITS;
    return [total, 1n << BITS];
  }
  const above = ([over, under], [most, parts]) => over * parts > most * under;
  function level(ratio) {  // the least eps with ratio <= e^eps, rounded up to a multiple of 1e-9
    let low = -1n, high = 10n ** 13n;
    if (above(ratio, eBelow(10000n, 1n))) return "infinite";
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      if (above(ratio, eBelow(middle, 10n ** 9n))) low = middle; else high = middle;
    }
    return billionths(high);
  }
  const billionths = (n) => `${n / 10n ** 9n}.${String(n % 10n ** 9n).padStart(9, "0")}`;

  // ---- the promise

  function clauses(said, of, columns, about) {  // of[s]: the value of this secret where all together have the value s
    const kind = said.notion, values = Math.max(...of) + 1;
    need(within(said, `notion ${PROMISES[kind]}`), "a promise has parameters that it does not have");
    const isValue = (value) => of.map((own) => Number(own !== value));
    if (kind === "promises") {
      const sizes = places(said.sizes, values, "sizes");
      need(sizes.reduce((a, b) => a * b, 1) === values && sizes.length === said.each.length, "the secrets do not fit their counts");
      need(said.each.every(([, own]) => own.notion !== "promises"), "promises within promises");
      const codes = product(sizes);
      return said.each.flatMap(([name, own], k) => clauses(own, of.map((s) => codes[s][k]), columns, name));
    }
    if (kind === "ordered") {
      need([said.promise, said.per_value ?? said.promise].every(simple), "borders need one level each");
      const aside = (said.unordered ?? []).map(Number), order = range(values).filter((value) => !aside.includes(value));
      need(order.length > 0, "no value of the secret has a place in the order");
      const borders = range(Math.max(2, order.length) - 1).flatMap((border) => {
        const side = (value) => order.includes(value) ? Number(order.indexOf(value) > border) : 2;
        return clauses(said.promise, of.map(side), columns, `${about}, border ${border + 1}`);
      });
      return [...("per_value" in said ? clauses(said.per_value, of, columns, about) : []), ...borders];
    }
    if (kind === "belief") {
      if ("share" in said) throw new Stop(LEFT, "a share of a limit on belief");
      const at = places(said.places, values - 1, "places");
      need(at.length === said.most.length && at.length > 0, "a limit on belief is none");
      return at.map((place, i) => {
        const most = said.most[i][1];
        need(number(most) > 0 && number(most) < 1, "a limit on belief is none");
        return {about: `${about} = ${place}`, event: isValue(place), only: [0], limits: {belief: most.text}, known: [""], sets: [[]]};
      });
    }
    const sets = ["srlip", "srldp"].includes(kind) ? knownBy(said.known, columns) : [[]], known = sets.map(String);
    need(kind in KINDS, "there is no such promise");
    const all = (epsilon) => Object.fromEntries(KINDS[kind].map((one) => [one, number(epsilon)]));
    if (Array.isArray(said.epsilon) && ["lip", "pml", "srlip"].includes(kind)) {
      need(said.epsilon.length === values, "not every value of the secret has a level");
      return said.epsilon.map(([, own], s) => ({about: `${about} = ${s}`, event: isValue(s), only: [0], limits: all(own), known, sets}));
    }
    const limits = kind === "alip" ? {rise: number(said.upper), fall: number(said.lower)} : all(kind === "perfect" ? 0n : said.epsilon);
    return [{about, event: of, only: range(values), limits, known, sets}];
  }

  const simple = (said) => said.notion in KINDS && !Array.isArray(said.epsilon);

  function knownBy(known, columns) {  // who knows all columns learns nothing more
    let most = columns.length - 1, found = [[]];
    const usable = Array.isArray(known) ? known.map((name) => columns.indexOf(name)) : range(columns.length);
    need(usable.every((j) => j >= 0), "a column that is known is none");
    if (known !== null && !Array.isArray(known)) most = Math.min(most, ...places([known], Infinity, "known columns"));
    for (const j of usable) {
      found = [...found, ...found.filter((J) => J.length < most).map((J) => [...J, j])];
      need(found.length <= 4096, "too many sets of columns may be known");
    }
    return found;
  }

  function bound(kind, limit) {
    return kind === "belief" ? decimal(limit) : eBelow(...fraction(limit || PERFECT));
  }
  function ratios(clause, kind, A, n) {
    if (kind === "apart") {
      return clause.only.flatMap((s) => clause.only.filter((t) => t !== s).map((t) => [A[s] * n[t], n[s] * A[t]]));
    }
    const B = sum(A), m = sum(n);
    if (kind === "belief") return clause.only.map((s) => [A[s], B]);
    return clause.only.map((s) => (kind === "rise" ? [A[s] * m, n[s] * B] : [n[s] * B, A[s] * m]));
  }

  // ---- the people, from noisy counts

  function moved(counts, total) {  // max(counts - t, 0) with the sum `total`, in units of 1/1024
    let k = 0n, above = 0n;
    for (const value of [...counts].sort((a, b) => smaller(b, a))) {
      if (value * (k + 1n) <= above + value - total) break;
      k += 1n;
      above += value;
    }
    return counts.map((value) => {
      const over = value * k - (above - total);
      return total > 0n && over > 0n ? 1024n * over / k : 0n;
    });
  }

  // How many people there are, by noisy counts y of which e are expected: the same numbers to the last bit as those of
  // publishing/check.py, since +, -, *, / are rounded alike everywhere and sums are taken in the same order.
  const added = (numbers) => { let found = 0; for (const one of numbers) found += one; return found; };
  function lean(y, variance, expected) {
    const off = y.map((a, i) => a - expected[i]);
    const of = expected.map((e) => [1 / 16, 1 / 4, 1, 4].filter((border) => e >= variance * border).length);
    const beyond = [0, 0, 0, 0, 0], squares = [0, 0, 0, 0, 0];
    expected.forEach((e, i) => {
      beyond[of[i]] += off[i] * off[i] - variance - e;
      squares[of[i]] += e * e;
    });
    const spread = beyond.map((b, k) => (squares[k] > 0 ? Math.max(0, b) / squares[k] : 0));
    return expected.map((e, i) => {
      const people = e + spread[of[i]] * e * e;
      return Math.max(e / 16, e + off[i] * (people / (people + variance)));
    });
  }

  function estimated(counts, all, sizes, noise) {  // N[s][x] in units of 1/1024 person
    const codes = product(sizes), cells = codes.length, rows = counts.length, people = Number(sum(all));
    const total = all.map((n) => Math.max(1, Number(n))), y = counts.map((row) => row.map(Number));
    const everybody = codes.map((_, x) => Number(sum(counts.map((row) => row[x]))));
    const one = range(sizes.length).map((j) => ({size: sizes[j], place: codes.map((x) => x[j])}));
    const two = range(sizes.length).flatMap((i) => range(sizes.length).slice(i + 1).map((j) => (
      {i, j, size: sizes[i] * sizes[j], place: codes.map((x) => x[i] * sizes[j] + x[j])})));
    const sums = (table, weights) => {
      const found = new Array(table.size).fill(0);
      table.place.forEach((place, x) => { found[place] += weights[x]; });
      return found;
    };
    const variance = (table, times) => noise * (times * (cells / table.size));
    const toSums = (table, weights, target, now) => {
      const factor = target.map((t, i) => t / now[i]);
      return weights.map((weight, x) => weight * factor[table.place[x]]);
    };
    const alone = one.map((table) => {
      const found = lean(sums(table, everybody), variance(table, rows), new Array(table.size).fill(people / table.size));
      const scale = people / added(found);
      return found.map((a) => a * scale);
    });
    const own = one.map((table, j) => y.map((row, s) => (
      lean(sums(table, row), variance(table, 1), alone[j].map((a) => total[s] * a / people)))));
    const pairs = two.map((table) => lean(sums(table, everybody), variance(table, rows),
      alone[table.i].flatMap((a) => alone[table.j].map((b) => a * b / people))));
    let found = total.map((n) => new Array(cells).fill(n / cells));
    for (let sweep = 0; sweep < 4; sweep += 1) {
      two.forEach((table, k) => {
        const now = sums(table, range(cells).map((x) => added(found.map((row) => row[x]))));
        found = found.map((row) => toSums(table, row, pairs[k], now));
      });
      one.forEach((table, j) => { found = found.map((row, s) => toSums(table, row, own[j][s], sums(table, row))); });
    }
    found = found.map((row, s) => lean(y[s], noise, row));
    one.forEach((table) => {
      found = found.map((row, s) => {
        const now = sums(table, row);
        return toSums(table, row, lean(sums(table, y[s]), variance(table, 1), now), now);
      });
    });
    return found.map((row, s) => {
      const scale = total[s] / added(row);
      return row.map((a) => BigInt(Math.max(1, Math.floor(a * scale * 1024))));
    });
  }

  function counted(noise, cells, sizes) {  // N[s][x], and what one person weighs
    const {counts, people} = noise, told = noise.combinations === null, [e, parts] = fraction(number(noise.epsilon));
    const faint = counts.map((row) => {
      const n = sum(row);
      return n <= 0n || n * n * e * e <= (told ? 32n * BigInt(cells) : 0n) * parts * parts;
    });
    need(faint.filter((one) => !one).length >= 2, "fewer than two values of the secret show through the noise");
    let N = counts.map((row) => row.map((n) => 1024n * n));
    if (told) {
      const totals = moved(counts.map(sum), people).map((n) => n / 1024n);
      const largest = totals.reduce((best, n, s) => (n > totals[best] ? s : best), 0);
      totals[largest] += people - sum(totals);
      const scale = 2 / number(noise.epsilon);
      N = cells <= 4096 ? estimated(counts, totals, sizes, 2 * scale * scale)
        : counts.map((row, s) => moved(row, totals[s]));
    }
    if (!faint.includes(true)) return [N, 1024n];
    const size = people < 1048576n ? people : 1048576n, least = (n) => (n > 1n ? n : 1n);
    const others = range(cells).map((x) => sum(N.filter((_, s) => !faint[s]).map((row) => row[x])));
    const rows = N.map((row, s) => {
      const weight = faint[s] ? least(least(sum(row) / 1024n) * size / people) : size;
      return (faint[s] ? others : row).map((n) => weight * n);
    });
    return [rows, 1024n * size];
  }

  function peopleOf(file) {
    const {noise, chain: [step], people} = file, {counts, combinations: listed} = noise;
    const sizes = step.columns.map((column) => column.labels.length), names = step.columns.map((column) => column.name);
    const cells = listed === null ? sizes.reduce((a, b) => a * b, 1) : listed.length;
    const least = listed === null ? -(10n ** 9n) : 0n;
    need(counts.every((row) => whole(row, least, 10n ** 9n, "noisy counts").length === cells), "counts do not fit");
    const codes = listed === null ? product(sizes) : listed.map((x) => placesIn(x, sizes, "combinations"));
    need(noise.of === "cells" && JSON.stringify(noise.attributes) === JSON.stringify(names) && noise.people === people, "noisy counts of other columns or people");
    need(different(codes) && cells > 0, "combinations that are none");
    need((number(noise.delta, 1e-3) === 0) === (listed === null), "some combinations are told with a δ, all without");
    need(number(noise.epsilon, 50) >= 1e-3 && file.fitted === "private counts", "there is no such noise");
    need(whole([people, file.at_least], 0, 10n ** 9n, "people")[0] > 0n, "nobody was counted");
    need(Object.keys(noise).length === 9 && within(noise, NOISE), "noisy counts of other columns or people");
    need(typeof noise.declared === "boolean" && number(noise.choosing, 50) >= 0, "what chose the columns is not told");
    checkNoise(counts.flat().map(Number), noise, Number(people));
    need(listed === null || range(cells).every((i) => counts.some((row) => row[i] > 0n)), "a combination is told that nobody has");
    const [N, unit] = counted(noise, cells, sizes), atLeast = file.at_least * unit;
    const found = codes.map((x, i) => ({x, N: N.map((row) => row[i])}));
    const follow = found.filter((one) => sum(one.N) >= (atLeast > 1n ? atLeast : 1n)).map((one) => String(one.x)).sort();
    const values = step.values.map(String).sort();
    if (file.promise.notion !== "robust") {
      need(String(follow) === String(values) && follow.length === values.length, "the values do not follow from the noisy counts");
    }
    need(step.nearest === true, "combinations that are not listed are not read as others");
    const some = found.filter((one) => sum(one.N) > 0n);
    need(counts.every((_, s) => some.some((one) => one.N[s] > 0n)), "a value of the secret has nobody");
    return some;
  }

  function checkNoise(counts, noise, people) {  // whether discrete Laplace noise of scale 2/eps0 makes these of so many people
    const k = counts.length, scale = 2 / number(noise.epsilon), all = counts.reduce((a, b) => a + b, 0);
    if (noise.combinations !== null) {  // only those above a threshold are told, of half of all people at least
      const told = counts.filter((n) => n), alone = largestNoise(1, scale, LUCK / people);
      const least = Math.max(2, Math.floor(1 + scale * Math.log(1 / number(noise.delta))) - 2);
      need(told.length > 0 && told.every((n) => n >= least), "counts below their threshold");
      need(people <= 2 * all && all <= people + alone * told.length, "counts of other people");
      return;
    }
    const alone = largestNoise(1, scale, LUCK / k);
    need(Math.abs(all - people) <= largestNoise(k, scale, LUCK / k), "counts of other people");
    need(counts.every((n) => -alone <= n && n <= people + alone), "a count beyond what its noise makes");
    const widths = [0, ...range(Math.ceil(Math.log2(1 + scale))).map((i) => 2 ** (i + 1) - 1)];
    for (const w of widths) {  // P(|n + z| <= w) <= P(|z| <= w) = q for any n >= 0: about a share q of all counts may be so small
      const a = counts.filter((n) => Math.abs(n) <= w).length / k, q = 1 - 2 * Math.exp(-(w + 1) / scale) / (1 + Math.exp(-1 / scale));
      const rare = a > q ? a * Math.log(a / q) + (a < 1 ? (1 - a) * Math.log((1 - a) / (1 - q)) : 0) : 0;
      need(k * rare <= Math.log(widths.length / LUCK), "more counts near 0 than noise of the stated size leaves there");
    }
  }
  function largestNoise(cells, scale, tail) {  // what the sum of so much noise exceeds with this probability at most (Chernoff)
    const a = Math.exp(-1 / scale), lnTail = Math.log(tail * (1 - OUTWARDS)), tilts = range(400).slice(1).map((i) => i / 400 / scale);
    const moment = (t) => 2 * Math.log1p(-a) - Math.log1p(-a * Math.exp(t)) - Math.log1p(-a * Math.exp(-t));
    const most = cells === 1 ? Math.max(1, (lnTail + Math.log1p(a)) / Math.log(a)) : Math.min(...tilts.map((t) => (cells * moment(t) - lnTail) / t));
    return Math.ceil(most * (1 + OUTWARDS)) - 1;
  }

  function placesIn(x, sizes, what) {
    need(Array.isArray(x) && x.length === sizes.length, `${what} that are none`);
    return sizes.map((size, j) => places([x[j]], size - 1, what)[0]);
  }

  // ---- how values are read, and what is drawn for them

  function reader(values, columns, near, exact) {  // the number of x in a list, or of the nearest one there, or -1
    const numberOf = new Map(values.map((x, i) => [String(x), i])), often = columns.map(() => new Map()), alike = new Map();
    for (const x of values) x.forEach((code, j) => often[j].set(code, (often[j].get(code) ?? 0) + 1));
    const rarity = values.map((x) => Math.min(2 ** 24 - 1, x.reduce((all, code, j) => all + often[j].get(code), 0)));
    function toAll(j, code) {  // what a value of column j has in common with that of everything in the list
      const {name, kind, labels, other} = columns[j];
      const some = range(labels.length).filter((i) => labels[i] !== null && !(other && labels[i] === "other"));
      const size = (i) => (typeof labels[i] === "string" ? labels[i] : typeof labels[i] === "bigint" ? Number(labels[i]) : labels[i].value);
      const order = kind === "bins" ? some : ORDERED.includes(kind) ? some.sort((i, k) => smaller(size(i), size(k))) : [];
      const place = labels.map((_, i) => order.indexOf(i)), most = Math.max(1, ...place);
      const each = labels.map((_, i) => {
        if (i === code) return 2 ** 14 * (columns.length + 1);
        if (exact.includes(name)) return -Infinity;
        return place[code] < 0 || place[i] < 0 ? 0 : 2 ** 14 - Math.floor(2 ** 14 * Math.abs(place[code] - place[i]) / most);
      });
      return values.map((x) => each[x[j]]);
    }
    return (x) => {
      const key = String(x);
      if (!numberOf.has(key) && near && Math.min(...x) >= 0) {
        const rows = x.map((code, j) => {
          const own = `${j}:${code}`;
          if (!alike.has(own)) alike.set(own, toAll(j, code));
          return alike.get(own);
        });
        let best = -1, common = -Infinity;
        values.forEach((_, i) => {
          const own = rows.reduce((all, row) => all + row[i], 0);
          if (own > common || (own === common && best >= 0 && rarity[i] < rarity[best])) [best, common] = [i, own];
        });
        numberOf.set(key, best);
      }
      return numberOf.get(key) ?? -1;
    };
  }

  function partsOfUnit(parts, size, what) {
    need(whole(parts, 0n, UNIT, what).length === size && sum(parts) === UNIT, `${what}: no ${size} parts of 2^32`);
    return parts;
  }

  function drawsOf(step, before) {  // for every history and every x that can have it q[y,x] by y
    const {columns} = step, first = step.step === "channel", names = columns.map((column) => column.name);
    const sizes = columns.map((column) => column.labels.length), values = step.values.map((x) => placesIn(x, sizes, "values"));
    need(different(values) && values.length > 0 && new Set(names).size === names.length, "values or columns are there twice");
    need(typeof step.nearest === "boolean", "it does not say how values are read");
    columns.forEach(checkColumn);
    const outputs = first ? places([step.outputs], Infinity, "outputs")[0] : values.length;
    const histories = first ? [[]] : step.histories.map((h) => placesIn(h, before, "histories"));
    const inputs = first ? [range(values.length)] : step.inputs.map((own) => places(own, values.length - 1, "inputs"));
    const rising = (own) => own.every((x, i) => i === 0 || own[i - 1] < x);
    need(different(histories) && histories.length === inputs.length, "a history is there twice, or has no inputs");
    need(inputs.every(rising), "inputs in disorder");
    need(step.channel.length === inputs.reduce((all, own) => all + own.length, 0), "the channel does not fit its inputs");
    const each = step.channel.map((column) => {
      need(Array.isArray(column), "a column of the channel is none");
      const y = places(column.filter((_, i) => i % 2 === 0), outputs - 1, "outputs"), q = column.filter((_, i) => i % 2);
      partsOfUnit(q, y.length, "a column of the channel");
      need(rising(y) && !q.includes(0n), "outputs in disorder");
      return y.map((one, i) => [one, q[i]]);
    });
    let next = 0;
    const draws = histories.map((history, h) => ({history, inputs: new Map(inputs[h].map((x) => [x, each[next++]]))}));
    const outcomes = draws.map((own) => new Set([...own.inputs.values()].flatMap((q) => q.map(([y]) => y))).size);
    partsOfUnit(step.marginal, first ? outputs : outcomes.reduce((a, b) => a + b, 0), "the marginal");
    if (first) {
      const labels = places(step.labels, values.length - 1, "labels");
      const told = step.variants === null ? labels : labels.map((x, y) => [x, places(step.variants, 2 ** 32, "variants")[y]]);
      need(labels.length === outputs && different(told) && (step.variants?.length ?? outputs) === outputs, "the outputs do not have a different label each");
      const stay = range(names.length).filter((j) => step.exact.includes(names[j]));
      const same = each.every((q, x) => q.every(([y]) => stay.every((j) => values[x][j] === values[labels[y]][j])));
      need(same && step.exact.every((name) => names.includes(name)), "a column that is said to stay exact does not");
      if (step.draw !== null) need(!stay.length && partsOfUnit(step.draw, outputs, "draw"), "a draw beside columns that stay exact");
    }
    return {values, outputs, draws};
  }

  function drawn(files, people) {  // for all that is released of somebody: q[y,x] by the place of x among the people
    let past = new Map([["", {y: [], q: new Map(people.map((_, r) => [r, 1n]))}]]), before = [];
    const last = files.at(-1).chain[0].columns, text = (column) => JSON.stringify(slices.get(column));
    for (const file of files) {
      const [step] = file.chain, {columns} = step, {values, outputs, draws} = drawsOf(step, before), found = new Map();
      const own = columns.map((column) => last.findIndex((one) => text(one) === text(column)));
      if (own.includes(-1)) throw new Stop(LEFT, "what an earlier release drew for whom: it cut a column otherwise");
      const codes = people.map(({x}) => own.map((j) => x[j])), exact = step.exact ?? [];
      const read = reader(values, columns, step.nearest, exact), listed = new Set(values.map(String));
      for (const {history, inputs} of draws) {
        const among = [...inputs.keys()], nearest = reader(among.map((i) => values[i]), columns, true, exact);
        const start = history.map((y) => `${y},`).join("");
        for (const [r, weight] of past.get(String(history))?.q ?? []) {
          let i = read(codes[r]);
          if (i >= 0 && !inputs.has(i) && !listed.has(String(codes[r]))) i = among[nearest(codes[r])];
          need(inputs.has(i) || file !== files.at(-1), "people may have values that no channel is for");
          for (const [y, q] of inputs.get(i) ?? []) {
            const key = start + y;
            if (!found.has(key)) found.set(key, {y: [...history, y], q: new Map()});
            found.get(key).q.set(r, weight * q);
          }
        }
      }
      past = found;
      before = [...before, outputs];
    }
    return past;
  }

  // ---- the proof

  function sums(parts) {  // the sums of N[s] q in every cell
    const found = new Map();
    for (const [cell, N, q] of parts) {
      const own = found.get(cell);
      if (own === undefined) found.set(cell, N.map((n) => n * q));
      else N.forEach((n, s) => { own[s] += n * q; });
    }
    return found;
  }
  const merged = (own, event) => range(Math.max(...event) + 1).map((k) => sum(own.filter((_, s) => event[s] === k)));

  function drawFits(r, clause, n, given) {
    const bounds = Object.entries(clause.limits).map(([kind, limit]) => [kind, bound(kind, limit)]);
    for (const [cell, own] of n) {
      const A = given.get(cell) ?? own.map(() => 0n), B = sum(A), m = sum(own);
      const up = clause.only.filter((s) => own[s] > 0n).map((s) => [A[s], r * own[s]]), down = up.map(([a, b]) => [b, a]);
      const pairs = {rise: [...up, [r * m, B]], fall: [...down, [B, r * m]], apart: [...up, ...down]};
      if (bounds.some(([kind, most]) => pairs[kind].some((ratio) => above(ratio, most)))) return false;
    }
    return true;
  }

  function proven(found, people, outcomes, draw) {
    const limits = found.flatMap((clause) => Object.entries(clause.limits).map(([kind, limit]) => ({clause, kind, limit, ratio: [0n, 1n], y: [], known: []})));
    const views = new Map(found.flatMap((clause) => clause.sets.map((J) => [String(J), J])));
    let count = 0;
    for (const [key, J] of views) {
      const cells = people.map(({x}) => String(J.map((j) => x[j])));
      const n = sums(people.map(({N}, r) => [cells[r], N, 1n]));
      for (const {y, q} of outcomes.values()) {
        const given = sums([...q].map(([r, weight]) => [cells[r], people[r].N, weight]));
        for (const one of limits) {
          if (!one.clause.known.includes(key)) continue;
          for (const [cell, A] of given) {
            for (const ratio of ratios(one.clause, one.kind, merged(A, one.clause.event), merged(n.get(cell), one.clause.event))) {
              count += 1;
              if (above(ratio, one.ratio)) Object.assign(one, {ratio, y, known: J});
            }
          }
        }
        need(draw === null || drawFits(draw[y[0]], found[0], n, given), "draws for values never seen may break it");
      }
    }
    return {limits, count};
  }

  function checked(file) {
    const files = releases(file), {noise, chain: [step], promise} = file;
    if (noise === null) throw new Stop(LEFT, "everything: the file carries no counts, so the original table is needed");
    if (step.step === "by_model") throw new Stop(LEFT, "whether the model follows from its noisy tables, and every group of it keeps the promise");
    const people = files.filter((one) => one.noise !== null).map(peopleOf).at(-1), secrets = range(people[0].N.length), names = step.columns.map((column) => column.name);
    const plain = promise.notion === "robust" ? promise.promise : promise;
    const told = JSON.stringify((plain.each ?? []).map(([name]) => name)), read = JSON.stringify(file.secret_readings.map((one) => one.name));
    need(told === "[]" || read === "[]" || told === read, "the promises are not about the secrets that were read, in their order");
    const found = clauses(plain, secrets, names, file.secret), draw = step.draw ?? null;
    need(draw === null || simple(plain), "draws for values never seen are proven for promises of one part only");
    const outcomes = drawn(files, people);
    need(draw === null || draw.every((r, y) => r === 0n || outcomes.has(String(y))), "a draw for values never seen that nobody else can get");
    const {limits, count} = proven(found, people, outcomes, draw);
    const rows = limits.map(({clause, kind, limit, ratio, y, known}) => ({
      about: clause.about, kind, promised: String(limit), y: y.join(", "), known: known.map((j) => names[j]).join(", "),
      fits: !above(ratio, bound(kind, limit)), over: ratio[0], under: ratio[1],
      level: kind === "belief" ? billionths((10n ** 9n * ratio[0] + ratio[1] - 1n) / ratio[1]) : level(ratio),
    }));
    const facts = {people: noise.people, values: people.length, releases: files.length, outcomes: outcomes.size, count};
    const kept = rows.every((row) => row.fits), left = kept && promise.notion === "robust";
    if (left) return {verdict: LEFT, why: "whether it holds for all people whom these counts leave possible, not for these counts only", rows, facts};
    return {verdict: kept ? "KEPT" : "BROKEN", why: kept ? "the promise is proven" : "a row tells more than is promised", rows, facts};
  }

  function check(text) {
    let digest = null;
    try {
      JSON.parse(text);
    } catch {
      return {digest, verdict: "UNREADABLE", why: "it is not JSON", rows: []};
    }
    try {
      const file = parse(text.replaceAll("\r\n", "\n"));
      if (file.schema !== "privacyfunnel/1") throw new Stop("UNREADABLE", "this is no protocol of privacyfunnel/1");
      digest = file.digest;
      return {digest, filled: file.chain.length > 1, ...checked(file)};
    } catch (stop) {
      if (stop instanceof Stop) return {digest, verdict: stop.verdict, why: stop.message, rows: []};
      return {digest, verdict: "BROKEN", why: "the file is not written as a protocol is", rows: []};
    }
  }
  globalThis.checkProtocol = check;

  // ---- the page

  const box = globalThis.document?.querySelector("[data-protocol]");
  if (!box) return;
  const [button, chooser, shown] = ["button", "label", "[role=status]"].map((name) => box.querySelector(name));
  const WORDS = {
    rise: "belief rises, as the exponent of a factor", fall: "belief falls, as the exponent of a factor",
    apart: "odds between two values change, as the exponent of a factor", belief: "belief itself",
  };
  function add(to, tag, text = "", more = {}) {
    const made = to.appendChild(document.createElement(tag));
    made.textContent = text;
    for (const [name, value] of Object.entries(more)) made.setAttribute(name, value);
    return made;
  }
  function show(text) {
    const {verdict, why, rows, facts, digest, filled} = check(text), other = digest !== null && digest !== box.dataset.digest;
    shown.replaceChildren();
    const line = add(shown, "p", "", {class: verdict === "KEPT" && !other ? "verdict kept" : "verdict broken"});
    add(line, "strong", other ? "Another file." : {KEPT: "Kept.", BROKEN: "Broken.", UNREADABLE: "Not a protocol."}[verdict] ?? "Not decided here.");
    add(line, "span", other ? `Its fingerprint is not that on this page. Of that file: ${verdict}, ${why}.`
      : verdict === LEFT ? `No flaw was found. This is left to funnel audit: ${why}.` : `Checked here and now: ${why}.`);
    if (verdict !== "UNREADABLE") add(shown, "p", "Not checked here: the guarantee in words, and figures of what is kept. funnel audit holds them against the rest.");
    if (filled && rows.length) add(shown, "p", "Not checked here: that filled columns are drawn as their noisy tables say, and that these have the stated noise. funnel audit checks it.");
    if (!rows.length) return;
    const tell = (n) => n.toLocaleString("en");
    add(shown, "p", `${tell(facts.count)} inequalities between whole numbers, for ${tell(facts.outcomes)} outcomes of ${tell(facts.releases)} `
      + `release${facts.releases > 1 ? "s" : ""} and ${tell(facts.values)} combinations of values, by noisy counts of ${tell(facts.people)} people.`);
    const caption = "Where each limit is tightest";
    const region = add(shown, "div", "", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption});
    const table = add(region, "table", "", {class: "texts"});
    add(table, "caption", caption);
    const head = add(add(table, "thead"), "tr"), body = add(table, "tbody");
    for (const name of ["limit", "reached, rounded up", "promised", "tightest at", "inequality"]) add(head, "th", name, {scope: "col"});
    for (const row of rows) {
      const own = add(body, "tr");
      add(own, "th", `${row.about}: ${WORDS[row.kind]}`, {scope: "row"});
      for (const cell of [row.level, row.promised, `output ${row.y}${row.known && `, known ${row.known}`}`]) add(own, "td", cell);
      const fold = add(add(own, "td"), "details");
      add(fold, "summary", row.fits ? "holds" : "does not hold");
      add(fold, "code", `${row.over} ${row.fits ? "≤" : ">"} ${row.kind === "belief" ? row.promised : `e^${row.promised}`} · ${row.under}`);
    }
  }
  async function run(read) {
    button.disabled = true;
    shown.textContent = "Checking …";
    await new Promise((go) => { setTimeout(go, 20); });
    try {
      show(await read());
    } catch {
      chooser.hidden = false;
      shown.textContent = `This browser does not let a page read the file beside it. Choose ${box.dataset.protocol} above.`;
    }
    button.disabled = false;
  }
  button.addEventListener("click", () => run(async () => {
    if (location.protocol === "file:") throw new Error("a page on disk reads nothing beside it");
    const answer = await fetch(box.dataset.protocol, {cache: "no-store"});
    if (!answer.ok) throw new Error("there is no such file");
    return answer.text();
  }));
  chooser.querySelector("input").addEventListener("change", ({target}) => {
    if (target.files.length) run(() => target.files[0].text());
  });
})();
