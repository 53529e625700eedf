PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO artist VALUES(1,'Ada L.');
INSERT INTO artist VALUES(2,'Bo');
CREATE TABLE genre(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO genre VALUES(1,'Rock');
INSERT INTO genre VALUES(2,'Jazz');
INSERT INTO genre VALUES(3,'Folk');
INSERT INTO genre VALUES(4,'Blues');
CREATE TABLE song(
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, artist_id INTEGER REFERENCES artist(id) ON DELETE SET NULL,
    price REAL, cover BLOB, plays INTEGER NOT NULL DEFAULT 0);
INSERT INTO song VALUES(1,'From the phone',1,12.990000000000000212,X'00ff',111);
INSERT INTO song VALUES(4,'Four',2,NULL,NULL,0);
INSERT INTO song VALUES(5,'Not sent yet',1,NULL,NULL,7);
CREATE TABLE song_genre(
    song_id INTEGER NOT NULL REFERENCES song(id) ON DELETE CASCADE,
    genre_id INTEGER NOT NULL REFERENCES genre(id), PRIMARY KEY(song_id, genre_id)) WITHOUT ROWID;
INSERT INTO song_genre VALUES(1,1);
CREATE TABLE note(text TEXT);
INSERT INTO note VALUES('stays');
CREATE TABLE ferry_meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO ferry_meta VALUES('clock',117656791785472000);
INSERT INTO ferry_meta VALUES('compaction','{"ownSnapshots":[],"plan":{"steps":[]},"tombstonesMilliseconds":1795300165720}');
INSERT INTO ferry_meta VALUES('container',X'96f5909e503b4726ac85b7afb87f57be');
INSERT INTO ferry_meta VALUES('containerName','shared');
INSERT INTO ferry_meta VALUES('containerPath','CONTAINER');
INSERT INTO ferry_meta VALUES('device',1);
INSERT INTO ferry_meta VALUES('fingerprint','fa12dc00147356beb5adc6565731c9de 9d4bcbf8ec6a5c39b6c4f927c1e60dbf b2e7ebe3253a5af2b89960c4416af83d');
INSERT INTO ferry_meta VALUES('newestSchema','{"device":"42b21da0b13d4fec810bfbc6fef9fd8e","references":[],"statements":[{"sql":"CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL)","type":"table","table":"artist","name":"artist"},{"sql":"CREATE TABLE genre(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)","type":"table","table":"genre","name":"genre"},{"sql":"CREATE TABLE song(\n    id INTEGER PRIMARY KEY, title TEXT NOT NULL, artist_id INTEGER REFERENCES artist(id) ON DELETE SET NULL,\n    price REAL, cover BLOB, plays INTEGER NOT NULL DEFAULT 0)","type":"table","table":"song","name":"song"},{"sql":"CREATE TABLE song_genre(\n    song_id INTEGER NOT NULL REFERENCES song(id) ON DELETE CASCADE,\n    genre_id INTEGER NOT NULL REFERENCES genre(id), PRIMARY KEY(song_id, genre_id)) WITHOUT ROWID","type":"table","table":"song_genre","name":"song_genre"},{"sql":"CREATE TABLE note(text TEXT)","type":"table","table":"note","name":"note"}],"applicationID":0,"userVersion":0,"time":117656791635984384,"tracked":[{"identity":"{\"columns\":[],\"kind\":\"surrogate\"}","name":"artist"},{"identity":"{\"columns\":[],\"kind\":\"surrogate\"}","name":"genre"},{"identity":"{\"columns\":[],\"kind\":\"surrogate\"}","name":"song"},{"identity":"{\"columns\":[\"song_id\",\"genre_id\"],\"kind\":\"key\"}","name":"song_genre"},{"identity":"{\"columns\":[\"target\"],\"kind\":\"key\"}","name":"ferry_policy"},{"identity":"{\"columns\":[\"key\"],\"kind\":\"key\"}","name":"ferry_kv_value"},{"identity":"{\"columns\":[\"set\",\"member\"],\"kind\":\"key\"}","name":"ferry_kv_member"},{"identity":"{\"columns\":[\"counter\",\"device\"],\"kind\":\"key\"}","name":"ferry_kv_counter"}]}');
INSERT INTO ferry_meta VALUES('policies',1);
INSERT INTO ferry_meta VALUES('schemaUnsent',0);
INSERT INTO ferry_meta VALUES('schemaVersion',99);
INSERT INTO ferry_meta VALUES('selection','{"except":[],"identities":{},"references":[]}');
INSERT INTO ferry_meta VALUES('version',6);
CREATE TABLE ferry_device(
    number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, name TEXT NOT NULL,
    sequence INTEGER NOT NULL, time INTEGER NOT NULL, checksum BLOB,
    written INTEGER, heard INTEGER, retired INTEGER,
    code TEXT, problem TEXT, since INTEGER);
INSERT INTO ferry_device VALUES(1,X'42b21da0b13d4fec810bfbc6fef9fd8e','laptop',4,117656791768956928,X'948e947d4fa35929b344d1af8072f499',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO ferry_device VALUES(2,X'a7ba2283909a4e0f9740246d5148854c','phone',2,117656791785472000,X'a92d766de7385d289f4089dbd58de54f',1795300166962,1795300166962,NULL,NULL,NULL,NULL);
CREATE TABLE ferry_context(
    author INTEGER NOT NULL, other INTEGER NOT NULL, time INTEGER NOT NULL, seen INTEGER NOT NULL,
    PRIMARY KEY(author, other, time)) WITHOUT ROWID;
CREATE TABLE ferry_table(
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, identity TEXT NOT NULL);
INSERT INTO ferry_table VALUES(1,'artist','{"columns":[],"kind":"surrogate"}');
INSERT INTO ferry_table VALUES(2,'genre','{"columns":[],"kind":"surrogate"}');
INSERT INTO ferry_table VALUES(3,'song','{"columns":[],"kind":"surrogate"}');
INSERT INTO ferry_table VALUES(4,'song_genre','{"columns":["song_id","genre_id"],"kind":"key"}');
INSERT INTO ferry_table VALUES(5,'ferry_policy','{"columns":["target"],"kind":"key"}');
INSERT INTO ferry_table VALUES(6,'ferry_kv_value','{"columns":["key"],"kind":"key"}');
INSERT INTO ferry_table VALUES(7,'ferry_kv_member','{"columns":["set","member"],"kind":"key"}');
INSERT INTO ferry_table VALUES(8,'ferry_kv_counter','{"columns":["counter","device"],"kind":"key"}');
CREATE TABLE ferry_column(
    "table" INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY("table", number), UNIQUE("table", name)) WITHOUT ROWID;
INSERT INTO ferry_column VALUES(1,0,'name');
INSERT INTO ferry_column VALUES(2,0,'name');
INSERT INTO ferry_column VALUES(3,0,'title');
INSERT INTO ferry_column VALUES(3,1,'artist_id');
INSERT INTO ferry_column VALUES(3,2,'price');
INSERT INTO ferry_column VALUES(3,3,'cover');
INSERT INTO ferry_column VALUES(3,4,'plays');
INSERT INTO ferry_column VALUES(4,0,'song_id');
INSERT INTO ferry_column VALUES(4,1,'genre_id');
INSERT INTO ferry_column VALUES(5,0,'target');
INSERT INTO ferry_column VALUES(5,1,'policy');
INSERT INTO ferry_column VALUES(6,0,'key');
INSERT INTO ferry_column VALUES(6,1,'value');
INSERT INTO ferry_column VALUES(7,0,'set');
INSERT INTO ferry_column VALUES(7,1,'member');
INSERT INTO ferry_column VALUES(8,0,'counter');
INSERT INTO ferry_column VALUES(8,1,'device');
INSERT INTO ferry_column VALUES(8,2,'amount');
CREATE TABLE ferry_digest(
    "table" INTEGER PRIMARY KEY, token INTEGER, columns TEXT NOT NULL, sum INTEGER NOT NULL,
    count INTEGER NOT NULL);
INSERT INTO ferry_digest VALUES(1,3565573716,'0',-495431183864615213,2);
INSERT INTO ferry_digest VALUES(2,437568915,'0',-656912178249002379,4);
INSERT INTO ferry_digest VALUES(3,368829599,'0,1,2,3,4',2218084339546796179,3);
INSERT INTO ferry_digest VALUES(4,2632497654,'0,1',-4851595515743020792,3);
INSERT INTO ferry_digest VALUES(5,1975497693,'0,1',4799995261025943046,1);
INSERT INTO ferry_digest VALUES(6,949377226,'0,1',-3135731548866070267,1);
INSERT INTO ferry_digest VALUES(7,1230359071,'0,1',-6822402923447110136,3);
INSERT INTO ferry_digest VALUES(8,3852726480,'0,1,2',2820597751371374838,2);
CREATE TABLE ferry_pending(
    sequence INTEGER PRIMARY KEY, "table" INTEGER NOT NULL, event INTEGER NOT NULL, mask INTEGER, at REAL,
    value, k0, k1);
INSERT INTO ferry_pending VALUES(1,1,2,1,2461366.4373825928197,NULL,1,NULL);
INSERT INTO ferry_pending VALUES(2,3,1,NULL,2461366.4373826622032,NULL,5,NULL);
INSERT INTO ferry_pending VALUES(3,3,3,NULL,2461366.4373829280958,NULL,2,NULL);
CREATE TABLE ferry_outbox(
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, changes INTEGER NOT NULL, checksum BLOB NOT NULL,
    bytes BLOB NOT NULL);
CREATE TABLE ferry_segment(
    first INTEGER NOT NULL, last INTEGER NOT NULL, changes INTEGER NOT NULL, bytes INTEGER NOT NULL,
    checksum BLOB NOT NULL, time INTEGER NOT NULL, published INTEGER NOT NULL, replaced INTEGER,
    PRIMARY KEY(first, last)) WITHOUT ROWID;
INSERT INTO ferry_segment VALUES(1,1,9,748,X'129e80360c5f5f928029d1a9fb2c6580',117656791635984384,1795300165598,NULL);
INSERT INTO ferry_segment VALUES(2,3,5,512,X'5e65c707987753feb58f3393ba51ebc2',117656791692214272,1795300166397,NULL);
INSERT INTO ferry_segment VALUES(4,4,5,413,X'948e947d4fa35929b344d1af8072f499',117656791768956928,1795300167861,NULL);
CREATE TABLE ferry_exception(
    "table" INTEGER NOT NULL, object BLOB NOT NULL, kind INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY("table", object)) WITHOUT ROWID;
INSERT INTO ferry_exception VALUES(2,X'01a2003a8751cf914c686c5b00000004',4,'deleted, but other rows still refer to it');
INSERT INTO ferry_exception VALUES(2,X'01a2003a90674fba93571b6a00000001',7,'shows 2 rows as one');
INSERT INTO ferry_exception VALUES(2,X'01a2003a9212a5f45e7bf0d800000001',6,'one row with an older one that has the same name');
INSERT INTO ferry_exception VALUES(4,X'1e7225114cd657a1a21d1ff4e72221a8',1,'song_id refers to a row that is not there');
INSERT INTO ferry_exception VALUES(4,X'42ad8ebbde2a5c068b29682548e0663f',1,'song_id refers to a row that is not there');
CREATE TABLE ferry_exception_token(
    token_table INTEGER NOT NULL, token BLOB NOT NULL, "table" INTEGER NOT NULL, object BLOB NOT NULL,
    PRIMARY KEY(token_table, token, "table", object)) WITHOUT ROWID;
INSERT INTO ferry_exception_token VALUES(2,X'fa888457055251f9b2b6f77f9eb64238',2,X'01a2003a8751cf914c686c5b00000004');
INSERT INTO ferry_exception_token VALUES(2,X'5a582ca6e71655a48ad38ee900fbb8fb',2,X'01a2003a90674fba93571b6a00000001');
INSERT INTO ferry_exception_token VALUES(2,X'5a582ca6e71655a48ad38ee900fbb8fb',2,X'01a2003a9212a5f45e7bf0d800000001');
INSERT INTO ferry_exception_token VALUES(2,X'01a2003a8751cf914c686c5b00000004',4,X'1e7225114cd657a1a21d1ff4e72221a8');
INSERT INTO ferry_exception_token VALUES(3,X'01a2003a8751cf914c686c5b00000007',4,X'1e7225114cd657a1a21d1ff4e72221a8');
INSERT INTO ferry_exception_token VALUES(2,X'01a2003a8751cf914c686c5b00000003',4,X'42ad8ebbde2a5c068b29682548e0663f');
INSERT INTO ferry_exception_token VALUES(3,X'01a2003a8751cf914c686c5b00000007',4,X'42ad8ebbde2a5c068b29682548e0663f');
CREATE TABLE ferry_joined(
    "table" INTEGER NOT NULL, object BLOB NOT NULL, representative BLOB NOT NULL, alias INTEGER NOT NULL,
    PRIMARY KEY("table", object)) WITHOUT ROWID;
INSERT INTO ferry_joined VALUES(2,X'01a2003a9212a5f45e7bf0d800000001',X'01a2003a90674fba93571b6a00000001',0);
CREATE TABLE ferry_conflict(
    number INTEGER PRIMARY KEY, "table" INTEGER NOT NULL, object BLOB NOT NULL, "column" INTEGER,
    kind TEXT NOT NULL, lost_value BLOB, lost_device INTEGER NOT NULL, lost_time INTEGER NOT NULL,
    kept_value BLOB, kept_device INTEGER NOT NULL, kept_time INTEGER NOT NULL, noticed INTEGER NOT NULL,
    resolved INTEGER, UNIQUE("table", object, "column", kind, lost_device, lost_time));
INSERT INTO ferry_conflict VALUES(1,3,X'01a2003a8751cf914c686c5b00000005',0,'field',X'030f46726f6d20746865206c6170746f70',1,117656791762796544,X'030e46726f6d207468652070686f6e65',2,117656791770136576,1795300168651,NULL);
CREATE TABLE ferry_absent(
    "table" INTEGER NOT NULL, object BLOB NOT NULL, PRIMARY KEY("table", object)) WITHOUT ROWID;
CREATE TABLE ferry_replay(active INTEGER NOT NULL);
INSERT INTO ferry_replay VALUES(0);
CREATE TABLE ferry_policy(target TEXT PRIMARY KEY NOT NULL, policy TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO ferry_policy VALUES('column:song.plays','counter');
CREATE TABLE ferry_policy_applied(target TEXT PRIMARY KEY NOT NULL, policy TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO ferry_policy_applied VALUES('column:song.plays','counter');
CREATE TABLE ferry_kv_value(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;
INSERT INTO ferry_kv_value VALUES('theme','dark');
CREATE TABLE ferry_kv_member(
    "set" TEXT NOT NULL, member TEXT NOT NULL, PRIMARY KEY("set", member)) WITHOUT ROWID;
INSERT INTO ferry_kv_member VALUES('reading-list','one');
INSERT INTO ferry_kv_member VALUES('reading-list','three');
INSERT INTO ferry_kv_member VALUES('reading-list','two');
CREATE TABLE ferry_kv_counter(
    counter TEXT NOT NULL, device BLOB NOT NULL, amount INTEGER NOT NULL,
    PRIMARY KEY(counter, device)) WITHOUT ROWID;
INSERT INTO ferry_kv_counter VALUES('launches',X'42b21da0b13d4fec810bfbc6fef9fd8e',3);
INSERT INTO ferry_kv_counter VALUES('launches',X'a7ba2283909a4e0f9740246d5148854c',1);
CREATE TABLE ferry_kv_change(
    kind INTEGER NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, writer BLOB,
    PRIMARY KEY(kind, name)) WITHOUT ROWID;
INSERT INTO ferry_kv_change VALUES(1,'theme',1,X'05e9a6ff27bd4b6488650ea5c8c9f9d7');
INSERT INTO ferry_kv_change VALUES(2,'reading-list',4,NULL);
INSERT INTO ferry_kv_change VALUES(3,'launches',5,NULL);
CREATE TABLE ferry_object_1(
    object BLOB PRIMARY KEY, k0, shown INTEGER NOT NULL, "check" INTEGER NOT NULL, state BLOB,
    kept BLOB) WITHOUT ROWID;
INSERT INTO ferry_object_1 VALUES(X'01a2003a8751cf914c686c5b00000001',1,1,1152370139890782907,X'050000dd863a00a20101',NULL);
INSERT INTO ferry_object_1 VALUES(X'01a2003a8751cf914c686c5b00000002',2,1,-1647801323755398120,X'050000dd863a00a20101',NULL);
CREATE TABLE ferry_object_2(
    object BLOB PRIMARY KEY, k0, shown INTEGER NOT NULL, "check" INTEGER NOT NULL, state BLOB,
    kept BLOB) WITHOUT ROWID;
INSERT INTO ferry_object_2 VALUES(X'01a2003a8751cf914c686c5b00000003',1,1,-1156119695493011479,X'050000de863a00a20101',NULL);
INSERT INTO ferry_object_2 VALUES(X'01a2003a8751cf914c686c5b00000004',2,10,0,X'070000de863a00a201010000cd8e3a00a20101',NULL);
INSERT INTO ferry_object_2 VALUES(X'01a2003a90674fba93571b6a00000001',3,2,-7309589778519940671,X'050000a98e3a00a20101',NULL);
INSERT INTO ferry_object_2 VALUES(X'01a2003a9212a5f45e7bf0d800000001',NULL,4,3974970079013727101,X'0500000a8f3a00a20102',X'000106010304466f6c6b');
INSERT INTO ferry_object_2 VALUES(X'01a2003a9212a5f45e7bf0d800000002',4,1,3833827216750222670,X'0500000a8f3a00a20102',NULL);
CREATE TABLE ferry_object_3(
    object BLOB PRIMARY KEY, k0, shown INTEGER NOT NULL, "check" INTEGER NOT NULL, state BLOB,
    kept BLOB) WITHOUT ROWID;
INSERT INTO ferry_object_3 VALUES(X'01a2003a8751cf914c686c5b00000005',1,1,2335096695890177541,X'150000df863a00a2010100030000df8e3a00a20104030000df8e3a00a201feffffff0f04020000df863a00a20142b21da0b13d4fec810bfbc6fef9fd8e0102010339020000df863a00a20142b21da0b13d4fec810bfbc6fef9fd8e0102020200006f8e3a00a20142b21da0b13d4fec810bfbc6fef9fd8e1401c801',NULL);
INSERT INTO ferry_object_3 VALUES(X'01a2003a8751cf914c686c5b00000006',2,1,4900732432072996454,X'150000df863a00a20101feffffff0f0401010400',NULL);
INSERT INTO ferry_object_3 VALUES(X'01a2003a8751cf914c686c5b00000007',NULL,24,0,X'170000df863a00a201010000c98e3a00a20101feffffff0f0401010600',X'0001060103055468726565020501a2003a8751cf914c686c5b000000020302000000000000e0bf0400050106');
INSERT INTO ferry_object_3 VALUES(X'01a2003a9212a5f45e7bf0d800000003',4,1,-5017744788416377816,X'150000198f3a00a20102feffffff0f0401010000',NULL);
CREATE TABLE ferry_object_4(
    object BLOB PRIMARY KEY, k0, k1, shown INTEGER NOT NULL, "check" INTEGER NOT NULL, state BLOB,
    kept BLOB) WITHOUT ROWID;
INSERT INTO ferry_object_4 VALUES(X'1e7225114cd657a1a21d1ff4e72221a8',NULL,NULL,3,-2856872206445199374,X'090000238f3a00a20102',X'010501a2003a8751cf914c686c5b00000007020501a2003a8751cf914c686c5b00000004');
INSERT INTO ferry_object_4 VALUES(X'42ad8ebbde2a5c068b29682548e0663f',NULL,NULL,3,-6816961216891857983,X'090000238f3a00a20102',X'010501a2003a8751cf914c686c5b00000007020501a2003a8751cf914c686c5b00000003');
INSERT INTO ferry_object_4 VALUES(X'801ea893d7ee5f53bd1e1a4ec53220ea',1,1,1,4822237907594036565,X'090000e0863a00a20101',NULL);
INSERT INTO ferry_object_4 VALUES(X'c0357979b21357b198e780f2e38ee2c8',NULL,NULL,24,0,X'0b0000e0863a00a201010000cc8e3a00a20101',X'010501a2003a8751cf914c686c5b00000006020501a2003a8751cf914c686c5b00000004');
CREATE TABLE ferry_object_5(
    object BLOB PRIMARY KEY, k0, shown INTEGER NOT NULL, "check" INTEGER NOT NULL, state BLOB,
    kept BLOB) WITHOUT ROWID;
INSERT INTO ferry_object_5 VALUES(X'ce0a817f775355f59269638c3386159d','column:song.plays',1,4799995261025943046,X'090000f8883a00a20101',NULL);
CREATE TABLE ferry_object_6(
    object BLOB PRIMARY KEY, k0, shown INTEGER NOT NULL, "check" INTEGER NOT NULL, state BLOB,
    kept BLOB) WITHOUT ROWID;
INSERT INTO ferry_object_6 VALUES(X'8e450689706a5e69a3ac4741446bd7b1','theme',1,-3135731548866070267,X'09000093893a00a20101',NULL);
CREATE TABLE ferry_object_7(
    object BLOB PRIMARY KEY, k0, k1, shown INTEGER NOT NULL, "check" INTEGER NOT NULL, state BLOB,
    kept BLOB) WITHOUT ROWID;
INSERT INTO ferry_object_7 VALUES(X'29000628fa3754c891dd061eb0340c8d','reading-list','one',1,4296179215477050878,X'090000da893a00a20101',NULL);
INSERT INTO ferry_object_7 VALUES(X'96ce611bf08f5beb8d45ca4b7b7b2d59','reading-list','two',1,-629346763188578413,X'090000da893a00a20101',NULL);
INSERT INTO ferry_object_7 VALUES(X'd82f14022c225e72bf99fe3ae48049d1','reading-list','three',1,7957508697973969015,X'090000c98f3a00a20102',NULL);
CREATE TABLE ferry_object_8(
    object BLOB PRIMARY KEY, k0, k1, shown INTEGER NOT NULL, "check" INTEGER NOT NULL, state BLOB,
    kept BLOB) WITHOUT ROWID;
INSERT INTO ferry_object_8 VALUES(X'249b2eb870c657e98822f037f59d5199','launches',X'a7ba2283909a4e0f9740246d5148854c',1,-3086408541510879438,X'0d0000608f3a00a20102',NULL);
INSERT INTO ferry_object_8 VALUES(X'be8456fc7ae95f059f1264250994d00a','launches',X'42b21da0b13d4fec810bfbc6fef9fd8e',1,5907006292882254276,X'0d00003a8a3a00a20101',NULL);
CREATE TABLE ferry_old_1(sequence INTEGER PRIMARY KEY, c0);
CREATE TABLE ferry_old_2(sequence INTEGER PRIMARY KEY, c0);
CREATE TABLE ferry_old_3(sequence INTEGER PRIMARY KEY, c0, c1, c2, c3, c4);
INSERT INTO ferry_old_3 VALUES(3,'Two',1,NULL,NULL,2);
CREATE TABLE ferry_old_4(sequence INTEGER PRIMARY KEY, c0, c1);
CREATE TABLE ferry_old_5(sequence INTEGER PRIMARY KEY, c0, c1);
CREATE TABLE ferry_old_6(sequence INTEGER PRIMARY KEY, c0, c1);
CREATE TABLE ferry_old_7(sequence INTEGER PRIMARY KEY, c0, c1);
CREATE TABLE ferry_old_8(sequence INTEGER PRIMARY KEY, c0, c1, c2);
CREATE INDEX ferry_exception_token_object ON ferry_exception_token("table", object);
CREATE INDEX ferry_joined_representative ON ferry_joined("table", representative);
CREATE INDEX ferry_kv_change_revision ON ferry_kv_change(revision);
CREATE INDEX ferry_object_1_tombstone ON ferry_object_1(object)
WHERE shown = 24;
CREATE UNIQUE INDEX ferry_object_1_key ON ferry_object_1(k0) WHERE k0 IS NOT NULL;
CREATE INDEX ferry_object_2_tombstone ON ferry_object_2(object)
WHERE shown = 24;
CREATE UNIQUE INDEX ferry_object_2_key ON ferry_object_2(k0) WHERE k0 IS NOT NULL;
CREATE INDEX ferry_object_3_tombstone ON ferry_object_3(object)
WHERE shown = 24;
CREATE UNIQUE INDEX ferry_object_3_key ON ferry_object_3(k0) WHERE k0 IS NOT NULL;
CREATE INDEX ferry_object_4_tombstone ON ferry_object_4(object)
WHERE shown = 24;
CREATE INDEX ferry_object_5_tombstone ON ferry_object_5(object)
WHERE shown = 24;
CREATE INDEX ferry_object_6_tombstone ON ferry_object_6(object)
WHERE shown = 24;
CREATE INDEX ferry_object_7_tombstone ON ferry_object_7(object)
WHERE shown = 24;
CREATE INDEX ferry_object_8_tombstone ON ferry_object_8(object)
WHERE shown = 24;
CREATE TRIGGER ferry_1_insert AFTER INSERT ON "artist" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 1, 1, NULL, julianday('now'), NULL, NEW."id"; END;
CREATE TRIGGER ferry_1_delete AFTER DELETE ON "artist" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 1, 3, NULL, julianday('now'), NULL, OLD."id"; INSERT INTO ferry_old_1(sequence, c0) VALUES (last_insert_rowid(), OLD."name"); END;
CREATE TRIGGER ferry_1_update_0 AFTER UPDATE ON "artist" WHEN NOT (OLD."id" COLLATE BINARY IS NOT NEW."id") AND ((OLD."name" COLLATE BINARY IS NOT NEW."name")) BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 1, 2, 0 | ((OLD."name" COLLATE BINARY IS NOT NEW."name") << 0), julianday('now'), NULL, NEW."id"; END;
CREATE TRIGGER ferry_1_rekey AFTER UPDATE ON "artist" WHEN OLD."id" COLLATE BINARY IS NOT NEW."id" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 1, 6, NULL, julianday('now'), OLD."id", NEW."id"; INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 1, 2, 0 | ((OLD."name" COLLATE BINARY IS NOT NEW."name") << 0), julianday('now'), NULL, NEW."id" WHERE (OLD."name" COLLATE BINARY IS NOT NEW."name"); END;
CREATE TRIGGER ferry_1_displace_update BEFORE UPDATE ON "artist" WHEN (OLD."id" COLLATE BINARY IS NOT NEW."id") BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 1, 4, julianday('now'), holder."id" FROM "artist" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); INSERT INTO ferry_old_1(sequence, c0) SELECT last_insert_rowid(), holder."name" FROM "artist" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); END;
CREATE TRIGGER ferry_2_insert AFTER INSERT ON "genre" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 2, 1, NULL, julianday('now'), NULL, NEW."id"; END;
CREATE TRIGGER ferry_2_delete AFTER DELETE ON "genre" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 2, 3, NULL, julianday('now'), NULL, OLD."id"; INSERT INTO ferry_old_2(sequence, c0) VALUES (last_insert_rowid(), OLD."name"); END;
CREATE TRIGGER ferry_2_update_0 AFTER UPDATE ON "genre" WHEN NOT (OLD."id" COLLATE BINARY IS NOT NEW."id") AND ((OLD."name" COLLATE BINARY IS NOT NEW."name")) BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 2, 2, 0 | ((OLD."name" COLLATE BINARY IS NOT NEW."name") << 0), julianday('now'), NULL, NEW."id"; END;
CREATE TRIGGER ferry_2_rekey AFTER UPDATE ON "genre" WHEN OLD."id" COLLATE BINARY IS NOT NEW."id" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 2, 6, NULL, julianday('now'), OLD."id", NEW."id"; INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 2, 2, 0 | ((OLD."name" COLLATE BINARY IS NOT NEW."name") << 0), julianday('now'), NULL, NEW."id" WHERE (OLD."name" COLLATE BINARY IS NOT NEW."name"); END;
CREATE TRIGGER ferry_2_displace_insert BEFORE INSERT ON "genre" BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 2, 4, julianday('now'), holder."id" FROM "genre" AS holder WHERE holder."name" COLLATE "BINARY" = NEW."name" AND NOT (holder."id" IS NEW."id"); INSERT INTO ferry_old_2(sequence, c0) SELECT last_insert_rowid(), holder."name" FROM "genre" AS holder WHERE holder."name" COLLATE "BINARY" = NEW."name" AND NOT (holder."id" IS NEW."id"); END;
CREATE TRIGGER ferry_2_displace_update BEFORE UPDATE ON "genre" WHEN (OLD."name" COLLATE BINARY IS NOT NEW."name") OR (OLD."id" COLLATE BINARY IS NOT NEW."id") BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 2, 4, julianday('now'), holder."id" FROM "genre" AS holder WHERE holder."name" COLLATE "BINARY" = NEW."name" AND NOT (holder."id" IS OLD."id"); INSERT INTO ferry_old_2(sequence, c0) SELECT last_insert_rowid(), holder."name" FROM "genre" AS holder WHERE holder."name" COLLATE "BINARY" = NEW."name" AND NOT (holder."id" IS OLD."id"); INSERT INTO ferry_pending("table", event, at, k0) SELECT 2, 4, julianday('now'), holder."id" FROM "genre" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); INSERT INTO ferry_old_2(sequence, c0) SELECT last_insert_rowid(), holder."name" FROM "genre" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); END;
CREATE TRIGGER ferry_3_insert AFTER INSERT ON "song" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 3, 1, NULL, julianday('now'), NULL, NEW."id"; END;
CREATE TRIGGER ferry_3_delete AFTER DELETE ON "song" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 3, 3, NULL, julianday('now'), NULL, OLD."id"; INSERT INTO ferry_old_3(sequence, c0, c1, c2, c3, c4) VALUES (last_insert_rowid(), OLD."title", OLD."artist_id", OLD."price", OLD."cover", OLD."plays"); END;
CREATE TRIGGER ferry_3_update_0 AFTER UPDATE ON "song" WHEN NOT (OLD."id" COLLATE BINARY IS NOT NEW."id") AND ((OLD."title" COLLATE BINARY IS NOT NEW."title") OR (OLD."artist_id" COLLATE BINARY IS NOT NEW."artist_id") OR (OLD."price" COLLATE BINARY IS NOT NEW."price") OR (OLD."cover" COLLATE BINARY IS NOT NEW."cover" OR typeof(OLD."cover") <> typeof(NEW."cover")) OR (OLD."plays" COLLATE BINARY IS NOT NEW."plays")) BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 3, 2, 0 | ((OLD."title" COLLATE BINARY IS NOT NEW."title") << 0) | ((OLD."artist_id" COLLATE BINARY IS NOT NEW."artist_id") << 1) | ((OLD."price" COLLATE BINARY IS NOT NEW."price") << 2) | ((OLD."cover" COLLATE BINARY IS NOT NEW."cover" OR typeof(OLD."cover") <> typeof(NEW."cover")) << 3) | ((OLD."plays" COLLATE BINARY IS NOT NEW."plays") << 4), julianday('now'), NULL, NEW."id"; END;
CREATE TRIGGER ferry_3_rekey AFTER UPDATE ON "song" WHEN OLD."id" COLLATE BINARY IS NOT NEW."id" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 3, 6, NULL, julianday('now'), OLD."id", NEW."id"; INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 3, 2, 0 | ((OLD."title" COLLATE BINARY IS NOT NEW."title") << 0) | ((OLD."artist_id" COLLATE BINARY IS NOT NEW."artist_id") << 1) | ((OLD."price" COLLATE BINARY IS NOT NEW."price") << 2) | ((OLD."cover" COLLATE BINARY IS NOT NEW."cover" OR typeof(OLD."cover") <> typeof(NEW."cover")) << 3) | ((OLD."plays" COLLATE BINARY IS NOT NEW."plays") << 4), julianday('now'), NULL, NEW."id" WHERE (OLD."title" COLLATE BINARY IS NOT NEW."title") OR (OLD."artist_id" COLLATE BINARY IS NOT NEW."artist_id") OR (OLD."price" COLLATE BINARY IS NOT NEW."price") OR (OLD."cover" COLLATE BINARY IS NOT NEW."cover" OR typeof(OLD."cover") <> typeof(NEW."cover")) OR (OLD."plays" COLLATE BINARY IS NOT NEW."plays"); INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 3, 5, 1, julianday('now'), OLD."artist_id", NEW."id" WHERE OLD."artist_id" IS NOT NULL AND (OLD."artist_id" COLLATE BINARY IS NOT NEW."artist_id"); END;
CREATE TRIGGER ferry_3_reference_1 AFTER UPDATE ON "song" WHEN NOT (OLD."id" COLLATE BINARY IS NOT NEW."id") AND OLD."artist_id" IS NOT NULL AND (OLD."artist_id" COLLATE BINARY IS NOT NEW."artist_id") BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 3, 5, 1, julianday('now'), OLD."artist_id", NEW."id"; END;
CREATE TRIGGER ferry_3_displace_update BEFORE UPDATE ON "song" WHEN (OLD."id" COLLATE BINARY IS NOT NEW."id") BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 3, 4, julianday('now'), holder."id" FROM "song" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); INSERT INTO ferry_old_3(sequence, c0, c1, c2, c3, c4) SELECT last_insert_rowid(), holder."title", holder."artist_id", holder."price", holder."cover", holder."plays" FROM "song" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); END;
CREATE TRIGGER ferry_4_insert AFTER INSERT ON "song_genre" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 4, 1, NULL, julianday('now'), NULL, NEW."song_id", NEW."genre_id"; END;
CREATE TRIGGER ferry_4_delete AFTER DELETE ON "song_genre" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 4, 3, NULL, julianday('now'), NULL, OLD."song_id", OLD."genre_id"; INSERT INTO ferry_old_4(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."song_id", OLD."genre_id"); END;
CREATE TRIGGER ferry_4_update_0 AFTER UPDATE ON "song_genre" WHEN NOT (OLD."song_id" IS NOT NEW."song_id" OR OLD."genre_id" IS NOT NEW."genre_id") AND ((OLD."song_id" COLLATE BINARY IS NOT NEW."song_id") OR (OLD."genre_id" COLLATE BINARY IS NOT NEW."genre_id")) BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 4, 2, 0 | ((OLD."song_id" COLLATE BINARY IS NOT NEW."song_id") << 0) | ((OLD."genre_id" COLLATE BINARY IS NOT NEW."genre_id") << 1), julianday('now'), NULL, NEW."song_id", NEW."genre_id"; END;
CREATE TRIGGER ferry_4_rekey AFTER UPDATE ON "song_genre" WHEN OLD."song_id" IS NOT NEW."song_id" OR OLD."genre_id" IS NOT NEW."genre_id" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 4, 3, NULL, julianday('now'), NULL, OLD."song_id", OLD."genre_id"; INSERT INTO ferry_old_4(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."song_id", OLD."genre_id"); INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 4, 1, NULL, julianday('now'), NULL, NEW."song_id", NEW."genre_id"; END;
CREATE TRIGGER ferry_4_displace_update BEFORE UPDATE ON "song_genre" WHEN (OLD."song_id" IS NOT NEW."song_id" OR OLD."genre_id" IS NOT NEW."genre_id") BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) SELECT 4, 4, julianday('now'), holder."song_id", holder."genre_id" FROM "song_genre" AS holder WHERE holder."song_id" = NEW."song_id" AND holder."genre_id" = NEW."genre_id" AND NOT (holder."song_id" IS OLD."song_id" AND holder."genre_id" IS OLD."genre_id"); INSERT INTO ferry_old_4(sequence, c0, c1) SELECT last_insert_rowid(), holder."song_id", holder."genre_id" FROM "song_genre" AS holder WHERE holder."song_id" = NEW."song_id" AND holder."genre_id" = NEW."genre_id" AND NOT (holder."song_id" IS OLD."song_id" AND holder."genre_id" IS OLD."genre_id"); END;
CREATE TRIGGER ferry_5_insert AFTER INSERT ON "ferry_policy" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 5, 1, NULL, julianday('now'), NULL, NEW."target"; END;
CREATE TRIGGER ferry_5_delete AFTER DELETE ON "ferry_policy" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 5, 3, NULL, julianday('now'), NULL, OLD."target"; INSERT INTO ferry_old_5(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."target", OLD."policy"); END;
CREATE TRIGGER ferry_5_update_0 AFTER UPDATE ON "ferry_policy" WHEN NOT (OLD."target" IS NOT NEW."target") AND ((OLD."target" COLLATE BINARY IS NOT NEW."target") OR (OLD."policy" COLLATE BINARY IS NOT NEW."policy")) BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 5, 2, 0 | ((OLD."target" COLLATE BINARY IS NOT NEW."target") << 0) | ((OLD."policy" COLLATE BINARY IS NOT NEW."policy") << 1), julianday('now'), NULL, NEW."target"; END;
CREATE TRIGGER ferry_5_rekey AFTER UPDATE ON "ferry_policy" WHEN OLD."target" IS NOT NEW."target" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 5, 3, NULL, julianday('now'), NULL, OLD."target"; INSERT INTO ferry_old_5(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."target", OLD."policy"); INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 5, 1, NULL, julianday('now'), NULL, NEW."target"; END;
CREATE TRIGGER ferry_5_displace_update BEFORE UPDATE ON "ferry_policy" WHEN (OLD."target" IS NOT NEW."target") BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 5, 4, julianday('now'), holder."target" FROM "ferry_policy" AS holder WHERE holder."target" = NEW."target" AND NOT (holder."target" IS OLD."target"); INSERT INTO ferry_old_5(sequence, c0, c1) SELECT last_insert_rowid(), holder."target", holder."policy" FROM "ferry_policy" AS holder WHERE holder."target" = NEW."target" AND NOT (holder."target" IS OLD."target"); END;
CREATE TRIGGER ferry_6_insert AFTER INSERT ON "ferry_kv_value" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 6, 1, NULL, julianday('now'), NULL, NEW."key"; END;
CREATE TRIGGER ferry_6_delete AFTER DELETE ON "ferry_kv_value" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 6, 3, NULL, julianday('now'), NULL, OLD."key"; INSERT INTO ferry_old_6(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."key", OLD."value"); END;
CREATE TRIGGER ferry_6_update_0 AFTER UPDATE ON "ferry_kv_value" WHEN NOT (OLD."key" IS NOT NEW."key") AND ((OLD."key" COLLATE BINARY IS NOT NEW."key") OR (OLD."value" COLLATE BINARY IS NOT NEW."value" OR typeof(OLD."value") <> typeof(NEW."value"))) BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 6, 2, 0 | ((OLD."key" COLLATE BINARY IS NOT NEW."key") << 0) | ((OLD."value" COLLATE BINARY IS NOT NEW."value" OR typeof(OLD."value") <> typeof(NEW."value")) << 1), julianday('now'), NULL, NEW."key"; END;
CREATE TRIGGER ferry_6_rekey AFTER UPDATE ON "ferry_kv_value" WHEN OLD."key" IS NOT NEW."key" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 6, 3, NULL, julianday('now'), NULL, OLD."key"; INSERT INTO ferry_old_6(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."key", OLD."value"); INSERT INTO ferry_pending("table", event, mask, at, value, k0) SELECT 6, 1, NULL, julianday('now'), NULL, NEW."key"; END;
CREATE TRIGGER ferry_6_displace_update BEFORE UPDATE ON "ferry_kv_value" WHEN (OLD."key" IS NOT NEW."key") BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 6, 4, julianday('now'), holder."key" FROM "ferry_kv_value" AS holder WHERE holder."key" = NEW."key" AND NOT (holder."key" IS OLD."key"); INSERT INTO ferry_old_6(sequence, c0, c1) SELECT last_insert_rowid(), holder."key", holder."value" FROM "ferry_kv_value" AS holder WHERE holder."key" = NEW."key" AND NOT (holder."key" IS OLD."key"); END;
CREATE TRIGGER ferry_7_insert AFTER INSERT ON "ferry_kv_member" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 7, 1, NULL, julianday('now'), NULL, NEW."set", NEW."member"; END;
CREATE TRIGGER ferry_7_delete AFTER DELETE ON "ferry_kv_member" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 7, 3, NULL, julianday('now'), NULL, OLD."set", OLD."member"; INSERT INTO ferry_old_7(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."set", OLD."member"); END;
CREATE TRIGGER ferry_7_update_0 AFTER UPDATE ON "ferry_kv_member" WHEN NOT (OLD."set" IS NOT NEW."set" OR OLD."member" IS NOT NEW."member") AND ((OLD."set" COLLATE BINARY IS NOT NEW."set") OR (OLD."member" COLLATE BINARY IS NOT NEW."member")) BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 7, 2, 0 | ((OLD."set" COLLATE BINARY IS NOT NEW."set") << 0) | ((OLD."member" COLLATE BINARY IS NOT NEW."member") << 1), julianday('now'), NULL, NEW."set", NEW."member"; END;
CREATE TRIGGER ferry_7_rekey AFTER UPDATE ON "ferry_kv_member" WHEN OLD."set" IS NOT NEW."set" OR OLD."member" IS NOT NEW."member" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 7, 3, NULL, julianday('now'), NULL, OLD."set", OLD."member"; INSERT INTO ferry_old_7(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."set", OLD."member"); INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 7, 1, NULL, julianday('now'), NULL, NEW."set", NEW."member"; END;
CREATE TRIGGER ferry_7_displace_update BEFORE UPDATE ON "ferry_kv_member" WHEN (OLD."set" IS NOT NEW."set" OR OLD."member" IS NOT NEW."member") BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) SELECT 7, 4, julianday('now'), holder."set", holder."member" FROM "ferry_kv_member" AS holder WHERE holder."set" = NEW."set" AND holder."member" = NEW."member" AND NOT (holder."set" IS OLD."set" AND holder."member" IS OLD."member"); INSERT INTO ferry_old_7(sequence, c0, c1) SELECT last_insert_rowid(), holder."set", holder."member" FROM "ferry_kv_member" AS holder WHERE holder."set" = NEW."set" AND holder."member" = NEW."member" AND NOT (holder."set" IS OLD."set" AND holder."member" IS OLD."member"); END;
CREATE TRIGGER ferry_8_insert AFTER INSERT ON "ferry_kv_counter" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 8, 1, NULL, julianday('now'), NULL, NEW."counter", NEW."device"; END;
CREATE TRIGGER ferry_8_delete AFTER DELETE ON "ferry_kv_counter" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 8, 3, NULL, julianday('now'), NULL, OLD."counter", OLD."device"; INSERT INTO ferry_old_8(sequence, c0, c1, c2) VALUES (last_insert_rowid(), OLD."counter", OLD."device", OLD."amount"); END;
CREATE TRIGGER ferry_8_update_0 AFTER UPDATE ON "ferry_kv_counter" WHEN NOT (OLD."counter" IS NOT NEW."counter" OR OLD."device" IS NOT NEW."device") AND ((OLD."counter" COLLATE BINARY IS NOT NEW."counter") OR (OLD."device" COLLATE BINARY IS NOT NEW."device" OR typeof(OLD."device") <> typeof(NEW."device")) OR (OLD."amount" COLLATE BINARY IS NOT NEW."amount")) BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 8, 2, 0 | ((OLD."counter" COLLATE BINARY IS NOT NEW."counter") << 0) | ((OLD."device" COLLATE BINARY IS NOT NEW."device" OR typeof(OLD."device") <> typeof(NEW."device")) << 1) | ((OLD."amount" COLLATE BINARY IS NOT NEW."amount") << 2), julianday('now'), NULL, NEW."counter", NEW."device"; END;
CREATE TRIGGER ferry_8_rekey AFTER UPDATE ON "ferry_kv_counter" WHEN OLD."counter" IS NOT NEW."counter" OR OLD."device" IS NOT NEW."device" BEGIN INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 8, 3, NULL, julianday('now'), NULL, OLD."counter", OLD."device"; INSERT INTO ferry_old_8(sequence, c0, c1, c2) VALUES (last_insert_rowid(), OLD."counter", OLD."device", OLD."amount"); INSERT INTO ferry_pending("table", event, mask, at, value, k0, k1) SELECT 8, 1, NULL, julianday('now'), NULL, NEW."counter", NEW."device"; END;
CREATE TRIGGER ferry_8_displace_update BEFORE UPDATE ON "ferry_kv_counter" WHEN (OLD."counter" IS NOT NEW."counter" OR OLD."device" IS NOT NEW."device") BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) SELECT 8, 4, julianday('now'), holder."counter", holder."device" FROM "ferry_kv_counter" AS holder WHERE holder."counter" = NEW."counter" AND holder."device" = NEW."device" AND NOT (holder."counter" IS OLD."counter" AND holder."device" IS OLD."device"); INSERT INTO ferry_old_8(sequence, c0, c1, c2) SELECT last_insert_rowid(), holder."counter", holder."device", holder."amount" FROM "ferry_kv_counter" AS holder WHERE holder."counter" = NEW."counter" AND holder."device" = NEW."device" AND NOT (holder."counter" IS OLD."counter" AND holder."device" IS OLD."device"); END;
COMMIT;
