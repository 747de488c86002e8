// Draws what pools did, with uPlot: one above the other, or of one pool what it holds and could use.
"use strict";
(() => {
	const root = document.currentScript.dataset.root;
	const at = document.getElementById("chart"), says = document.getElementById("chart-says");
	const { pool, span } = at.dataset;
	const every = { "10m": 2000, "4h": 10000, "7d": 120000 }[span]; // milliseconds from one look to the next
	const dark = matchMedia("(prefers-color-scheme: dark)");
	let chart = null, drawn = "", shown = null;

	const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	const hue = (i, alpha) => `hsl(${(i * 137.5 + 210) % 360} 55% ${dark.matches ? 60 : 45}% / ${alpha})`;
	const round = (x) => x == null ? "-" : String(Math.round(x * 100) / 100);
	// What steers a reader's eye is spelled out, as on the pages.
	const clean = (text) => text.replace(/\p{C}/gu, (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));
	const utc = (t) => new Date(t * 1000).toISOString().replace("T", " ").slice(0, 19);
	// Times of the axis, as on the pages: with the day where that is new.
	const marks = (_, times) => times.map((t, i) => {
		const [day, time] = utc(t).split(" ");
		const hour = time.endsWith(":00") ? time.slice(0, 5) : time;
		return i === 0 || utc(times[i - 1]).slice(0, 10) !== day ? hour + "\n" + day : hour;
	});
	const width = () => Math.max(320, at.clientWidth);

	// What the policy told nothing of is what the manager counted.
	const held = (p, told = p.held) => told.map((x, i) => x ?? p.running[i]);
	const any = (values) => values.some((x) => x > 0);

	const layersOf = (a) => {
		if (!pool) return [a.pools.map((p) => ({ label: p.name || "-", values: held(p, p.own), all: held(p) })).filter((l) => any(l.values) || !any(l.all)), { label: "slots", values: a.slots }];
		const nothing = a.times.map(() => null);
		const p = a.pools[0] || { held: nothing, running: nothing, demand: nothing, share: nothing };
		const has = held(p);
		const more = { label: "could use besides", values: has.map((x, i) => p.demand[i] == null ? 0 : Math.max(0, p.demand[i] - x)) };
		return [[{ label: "holds", values: has }, more], { label: "fair share", values: p.share }];
	};

	// Each layer stands on those before it. The highest is drawn first, so that each hides what is not its own. A
	// time without samples is a gap, and no line across it.
	const arrange = (a) => {
		const [layers, line] = layersOf(a);
		const places = [];
		a.times.forEach((t, i) => {
			if (i > 0 && t - a.times[i - 1] > 1.5 * a.every) places.push(-1);
			places.push(i);
		});
		const pick = (list) => places.map((i) => i < 0 ? null : list[i]);
		const times = places.map((i, n) => i < 0 ? a.times[places[n - 1]] + a.every : a.times[i]);
		const sum = a.times.map(() => 0);
		const areas = layers.map((l) => ({ label: clean(l.label), own: pick(l.values), sums: pick(l.values.map((x, i) => sum[i] += x)) })).reverse();
		return { areas, line: clean(line.label), data: [times, ...areas.map((l) => l.sums), pick(line.values)] };
	};

	const options = () => {
		const axis = { stroke: ink("--faint"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line"), width: 1 } };
		const points = { show: false }, last = shown.areas.length - 1;
		return {
			width: width(), height: 300,
			series: [
				{ label: "Time", value: (_, t) => t == null ? "-" : utc(t) + " UTC" },
				...shown.areas.map((l, k) => ({
					label: l.label, stroke: hue(last - k, 1), fill: hue(last - k, .9), width: 1, points, value: (_, __, ___, n) => n == null ? "-" : round(shown.areas[k].own[n]),
				})),
				{ label: shown.line, stroke: ink("--ink"), width: 2, points, value: (_, x) => round(x) },
			],
			tzDate: (t) => uPlot.tzDate(new Date(t * 1000), "UTC"),
			axes: [{ ...axis, values: marks }, { ...axis, size: 60 }],
			scales: { y: { range: (_, __, most) => [0, Math.max(1, (most || 0) * 1.05)] } },
		};
	};

	const draw = (a) => {
		shown = arrange(a);
		const key = JSON.stringify([shown.areas.map((l) => l.label), dark.matches]);
		if (chart && key === drawn) chart.setData(shown.data);
		else {
			if (chart) chart.destroy();
			drawn = key;
			chart = new uPlot(options(), shown.data, at);
		}
		says.textContent = a.leftOut > 0 ? `${a.leftOut} pools with less to do are not drawn.` : "";
	};

	const refresh = async () => {
		const paused = new URLSearchParams(location.search).has("pause");
		if (!document.hidden && !(paused && chart)) {
			try {
				const query = new URLSearchParams({ span });
				if (pool) query.set("pool", pool);
				const answer = await fetch(root + "api/v1/pools/series?" + query, { redirect: "error" });
				const body = await answer.json();
				if (!answer.ok) throw new Error(body.detail);
				draw(body);
			} catch (e) {
				says.textContent = "What is drawn may be old: " + clean(e.message);
			}
		}
		setTimeout(refresh, every);
	};

	addEventListener("resize", () => { if (chart) chart.setSize({ width: width(), height: 300 }); });
	refresh();
})();
