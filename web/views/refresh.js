// Runs a load again and again, quietly.

/// Returns a function that runs the asynchronous `load`, one run at a time: however often it is
/// called during a run, one more run follows.
export function oneAtATime(load) {
  let running = null;
  let again = false;
  const run = async () => {
    try {
      do {
        again = false;
        await load();
      } while (again);
    } finally {
      running = null;
    }
  };
  return () => {
    if (running) again = true;
    else running = run();
    return running;
  };
}
