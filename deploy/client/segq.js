// segq.js
