// Drives a server with ioredis the way a Node program would and asserts every
// reply. Usage: node drive.mjs PORT. Prints "ok" and exits 0 when all held.

import assert from "node:assert/strict";
import Redis from "ioredis";

const port = Number(process.argv[2]);

// ioredis becomes ready only when INFO says loading:0.
const redis = new Redis({ port, host: "127.0.0.1", connectionName: "driver" });
redis.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
await new Promise((resolve) => redis.once("ready", resolve));
assert.equal(redis.serverInfo?.loading ?? "0", "0");

async function rejects(promise, message) {
  await assert.rejects(promise, (error) => {
    assert.equal(error.name, "ReplyError");
    assert.match(error.message, message);
    return true;
  });
}

// Strings and their options.
assert.equal(await redis.get("absent"), null);
assert.equal(await redis.set("k", "v", "EX", 60), "OK");
assert.equal(await redis.set("k", "w", "NX"), null);
assert.equal(await redis.set("k", "w", "XX", "KEEPTTL", "GET"), "v");
const ttl = await redis.ttl("k");
assert.ok(ttl > 50 && ttl <= 60, `TTL ${ttl}`);
assert.equal(await redis.getex("k", "PERSIST"), "w");
assert.equal(await redis.pttl("k"), -1);
assert.equal(await redis.append("k", "orld"), 5);
assert.equal(await redis.getrange("k", 1, -1), "orld");
assert.equal(await redis.setrange("k", 0, "W"), 5);
assert.equal(await redis.strlen("k"), 5);
assert.equal(await redis.getset("k", "x"), "World");
assert.equal(await redis.getdel("k"), "x");
assert.equal(await redis.setnx("k", "y"), 1);
assert.equal(await redis.psetex("p", 90_000, "z"), "OK");

// Bytes of every value survive, as key and as value.
const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 31) & 0xff));
assert.equal(await redis.set(bytes, bytes), "OK");
assert.ok(bytes.equals(await redis.getBuffer(bytes)));
assert.equal(await redis.del(bytes), 1);
assert.equal(await redis.set("", "empty key"), "OK");
assert.equal(await redis.get(""), "empty key");

// Several keys.
assert.equal(await redis.mset({ a: "1", b: "2" }), "OK");
assert.deepEqual(await redis.mget("a", "absent", "b"), ["1", null, "2"]);
assert.equal(await redis.msetnx("b", "3", "c", "4"), 0);
assert.equal(await redis.exists("a", "a", "c"), 2);
assert.equal(await redis.touch("a", "b"), 2);
assert.equal(await redis.unlink("a", "b", "c"), 2);

// Counters.
assert.equal(await redis.incr("n"), 1);
assert.equal(await redis.incrby("n", 41), 42);
assert.equal(await redis.decr("n"), 41);
assert.equal(await redis.incrbyfloat("n", 0.25), "41.25");
await rejects(redis.incr("n"), /^ERR value is not an integer or out of range$/);

// Keys and expiry.
assert.equal(await redis.rename("n", "m"), "OK");
assert.equal(await redis.copy("m", "n"), 1);
assert.equal(await redis.type("m"), "string");
const deadline = Math.floor(Date.now() / 1000) + 3600;
assert.equal(await redis.expireat("m", deadline), 1);
assert.equal(await redis.expiretime("m"), deadline);
assert.equal(await redis.expire("m", 10, "GT"), 0);
assert.equal(await redis.persist("m"), 1);
await rejects(redis.rename("absent", "m"), /^ERR no such key$/);

// A scan stream sees every key.
await redis.flushall();
const load = redis.pipeline();
for (let i = 0; i < 3000; i++) load.set(`key:${i}`, i);
for (const [error, reply] of await load.exec()) {
  assert.equal(error, null);
  assert.equal(reply, "OK");
}
const seen = new Set();
for await (const batch of redis.scanStream({ match: "key:*", count: 100 })) {
  for (const key of batch) seen.add(key);
}
assert.equal(seen.size, 3000);
assert.equal((await redis.keys("key:29??")).length, 100);
assert.equal(await redis.dbsize(), 3000);

// A pipeline reports the error of one command beside the others' replies.
const mixed = await redis.pipeline().set("s", "text").incr("s").get("s").exec();
assert.deepEqual([mixed[0], mixed[2]], [[null, "OK"], [null, "text"]]);
assert.match(mixed[1][0].message, /^ERR value is not an integer/);

// Auto-pipelining: many calls of one turn leave in one write.
const auto = new Redis({ port, host: "127.0.0.1", enableAutoPipelining: true, db: 4 });
await Promise.all(Array.from({ length: 2000 }, (_, i) => auto.set(`auto:${i}`, `v${i}`)));
const values = await Promise.all(Array.from({ length: 2000 }, (_, i) => auto.get(`auto:${i}`)));
values.forEach((value, i) => assert.equal(value, `v${i}`));
assert.equal(await auto.dbsize(), 2000);
assert.equal(await redis.exists("auto:1"), 0);
await auto.quit();

// The connection itself.
assert.equal(await redis.client("GETNAME"), "driver");
assert.match(await redis.client("LIST"), / name=driver /);
assert.equal(await redis.echo("hi"), "hi");
assert.equal(await redis.select(2), "OK");
assert.equal(await redis.dbsize(), 0);
await rejects(redis.call("NOSUCHCOMMAND", "x"), /^ERR unknown command 'NOSUCHCOMMAND'/);

// Password.
assert.equal(await redis.config("SET", "requirepass", "sésame"), "OK");
const known = new Redis({ port, host: "127.0.0.1", password: "sésame" });
assert.equal(await known.ping(), "PONG");
await known.quit();

assert.equal(await redis.quit(), "OK");
console.log("ok");
