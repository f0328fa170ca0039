// Runs work before the next frame, for all timelines together: first what moves views, then what
// draws, so that a movement is drawn in the frame in which it happens.

const moves = new Set(), draws = new Set();
let asked = false;

function run(set, now) {
  const all = [...set];
  set.clear();
  for (const work of all) work(now);
}

function frame(now) {
  asked = false;
  run(moves, now);
  run(draws, now);
}

function ask() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(frame);
}

/// Calls `work(now)` once in the next frame, before anything is drawn.
export function beforeFrame(work) {
  moves.add(work);
  ask();
}

/// Calls `work(now)` once in the next frame, or in this one while views are moved.
export function inFrame(work) {
  draws.add(work);
  ask();
}

export function forget(work) {
  moves.delete(work);
  draws.delete(work);
}
