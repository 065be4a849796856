// The widget script asks for the queue of MathJax 2; the pages have MathJax 3, or no maths and no MathJax at all.
window.MathJax = Object.assign(window.MathJax || {}, {
  Hub: {
    Queue(task) {
      const element = Array.isArray(task) ? task[task.length - 1] : null;
      if (element instanceof Element && window.MathJax.typesetPromise) window.MathJax.typesetPromise([element]);
    },
  },
});
