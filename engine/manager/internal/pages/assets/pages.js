// Keeps a page new: hears what changed, asks for the page again, and changes what differs. One tab
// of the browser listens for all, because a browser opens few connections to one server.
"use strict";
(() => {
	const root = document.currentScript.dataset.root;
	const live = document.getElementById("live"), pause = document.getElementById("pause");
	const channel = new BroadcastChannel("hamadryad " + new URL(root, location.href).href);
	let paused = new URLSearchParams(location.search).has("pause"), due = false, busy = false;

	const say = (text) => { if (live.textContent !== text) live.textContent = text; };

	let again = 0; // of a page of which some may be newer later, though nothing is told to have changed
	const later = (seconds) => { clearTimeout(again); if (seconds) again = setTimeout(refresh, 1000 * seconds); };

	// What somebody has written or chosen and not sent stays, also when he has gone on to something else.
	const asMade = (e) => e.localName === "select" ? (e.querySelector("option[selected]") || e.options[0]).value : e.defaultValue;
	const isTheirs = (e) => e.matches("input, textarea, select") ? e.value !== asMade(e) : e.hasAttribute("data-keep");

	const refresh = async () => {
		due = true;
		if (paused || busy || document.hidden || "still" in document.getElementById("main").dataset) return;
		busy = true;
		try {
			while (due) {
				due = false;
				const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
				const page = new DOMParser().parseFromString(await answer.text(), "text/html");
				const main = page.getElementById("main");
				if (!main) throw new Error("no page");
				Idiomorph.morph(document.getElementById("main"), main, { ignoreActiveValue: true, callbacks: { beforeNodeMorphed: (old) => !(old instanceof Element && isTheirs(old)) } });
				document.title = page.title;
				document.dispatchEvent(new Event("renewed"));
				later(main.dataset.again);
				say(answer.ok ? "" : "The manager refuses: what is shown may be old.");
				await new Promise((done) => setTimeout(done, 1000));
			}
		} catch {
			say("The manager does not answer: what is shown is old.");
		}
		busy = false;
	};

	const concerns = (topics) => {
		const mine = (document.getElementById("main").dataset.topics || "").split(" ");
		if (topics.some((t) => mine.includes(t))) refresh();
	};

	let told = []; // topics that changed at once come one after another, and are one change
	const heard = (event) => {
		if (told.push(event.type) > 1) return;
		setTimeout(() => { channel.postMessage(told); concerns(told); told = []; }, 50);
	};
	const listen = () => {
		const events = new EventSource(root + "api/v1/events");
		for (const topic of ["jobs", "launchers", "pools", "queue", "policy"]) events.addEventListener(topic, heard); // the first, too: something may have changed since the page was made
		events.onerror = () => {
			channel.postMessage("lost");
			say("The manager does not answer: what is shown is old.");
			if (events.readyState === EventSource.CLOSED) setTimeout(listen, 5000); // it was refused, by a proxy whose manager starts again, say: a browser does not come back from that by itself
		};
		events.onopen = () => { channel.postMessage("back"); say(""); };
	};

	channel.onmessage = (m) => {
		if (Array.isArray(m.data)) concerns(m.data);
		else say(m.data === "lost" ? "The manager does not answer: what is shown is old." : "");
	};
	document.addEventListener("visibilitychange", () => { if (!document.hidden && due) refresh(); });

	const show = () => {
		pause.textContent = paused ? "Go on" : "Pause";
		pause.setAttribute("aria-pressed", String(paused));
	};
	pause.hidden = false;
	pause.addEventListener("click", () => {
		paused = !paused;
		const url = new URL(location.href);
		if (paused) url.searchParams.set("pause", "1"); else url.searchParams.delete("pause");
		history.replaceState(null, "", url);
		show();
		if (!paused) refresh();
	});
	show();
	later(document.getElementById("main").dataset.again);
	setTimeout(refresh, 1000); // what changed after the page was made and before this tab heard others

	if (navigator.locks) navigator.locks.request("hamadryad " + new URL(root, location.href).href, () => new Promise(listen));
	else setInterval(refresh, 5000); // a page that did not come over TLS from another machine
})();

// Goes on with a log while its attempt does: asks for what follows what is shown, and adds it as it comes.
(() => {
	const most = 1 << 20; // characters that a page keeps
	const waitMax = 30; // seconds, from one try to the next
	const button = document.getElementById("pause");
	const paused = () => new URLSearchParams(location.search).has("pause");
	const clicked = () => new Promise((done) => button.addEventListener("click", done, { once: true }));
	let reading = new AbortController();
	button.addEventListener("click", () => { if (paused()) reading.abort(); }); // what is not shown by then is asked for again

	// What would steer a reader's eye is spelled out, just as the server does (scheduler.PrintableText).
	const letters = { 7: "a", 8: "b", 11: "v", 12: "f", 13: "r" };
	const spelled = (c) => {
		const n = c.codePointAt(0), hex = n.toString(16);
		if (letters[n]) return "\\" + letters[n];
		return n < 0x80 ? "\\x" + hex.padStart(2, "0") : n < 0x10000 ? "\\u" + hex.padStart(4, "0") : "\\U" + hex.padStart(8, "0");
	};
	const plain = (text) => text.replaceAll("\t", "    ").replace(/[\p{C}\p{Z}\ufffd]/gu, (c) => c === " " || c === "\n" ? c : spelled(c));

	const follow = async (log) => {
		let at = Number(log.dataset.to), wait = 1, decoder = new TextDecoder();
		const add = (text) => {
			const end = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
			log.append(plain(text));
			if (log.textContent.length > most) log.textContent = log.textContent.slice(-most / 2);
			if (end) log.scrollTop = log.scrollHeight;
		};
		for (;;) {
			while (paused()) await clicked();
			reading = new AbortController();
			try {
				const answer = await fetch(log.dataset.follow + "?follow=true", { headers: { Range: "bytes=" + at + "-" }, signal: reading.signal });
				if (answer.status === 416) return; // it is over, and all of it is there
				if (answer.status !== 206) {
					const why = (await answer.json()).detail;
					if (answer.status < 500) return add("\n[it does not go on here: " + why + "]\n"); // to ask again helps nobody
					throw new Error(why);
				}
				const from = Number(/^bytes (\d+)-/.exec(answer.headers.get("Content-Range"))[1]);
				if (from > at) {
					decoder = new TextDecoder();
					add("\n[" + (from - at) + " bytes were dropped here]\n");
				}
				at = from;
				const reader = answer.body.getReader();
				for (let part = await reader.read(); !part.done; part = await reader.read()) {
					at += part.value.length;
					wait = 1;
					add(decoder.decode(part.value, { stream: true }));
				}
			} catch {
				wait = paused() ? 0 : Math.min(2 * wait || 1, waitMax); // the manager or the launcher is not there for a moment
			}
			await new Promise((done) => setTimeout(done, 1000 * wait));
		}
	};
	const begin = () => {
		const log = document.getElementById("log");
		if (!log || !log.dataset.follow || "keep" in log.dataset) return;
		log.dataset.keep = ""; // what makes the page new leaves it alone
		log.scrollTop = log.scrollHeight;
		follow(log);
	};
	document.addEventListener("renewed", begin); // an attempt may have printed nothing until then
	begin();
})();
