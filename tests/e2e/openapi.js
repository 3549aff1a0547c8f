// openapi.js FILE: is it valid OpenAPI 3.0? A line "ok ..." or "FAIL ..." per claim. The validator
// comes from npm with what the browser tests need: Debian has none.
const { pathToFileURL } = require('url');

const at = process.env.E2E_MODULES + '/@seriousme/openapi-schema-validator/index.js';

(async () => {
  const { Validator } = await import(pathToFileURL(at));
  const validator = new Validator();
  const { valid, errors } = await validator.validate(process.argv[2]);
  console.log(`${valid ? 'ok' : 'FAIL'} openapi.yaml is valid OpenAPI ${validator.version}`);
  for (const e of errors || []) console.log(`${e.instancePath}: ${e.message} ${JSON.stringify(e.params)}`);
  if (!valid) return;
  validator.resolveRefs(); // throws if a $ref leads nowhere
  console.log('ok every $ref leads somewhere');
})();
