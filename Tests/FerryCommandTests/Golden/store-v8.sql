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
INSERT INTO ferry_meta VALUES('checkedKeys','["reference:song.artist_id=artist(id)","reference:song_genre.genre_id=genre(id)","reference:song_genre.song_id=song(id)"]');
INSERT INTO ferry_meta VALUES('clock',117656793244303360);
INSERT INTO ferry_meta VALUES('compaction','');
INSERT INTO ferry_meta VALUES('container',X'96f5909e503b4726ac85b7afb87f57be');
INSERT INTO ferry_meta VALUES('containerName','shared');
INSERT INTO ferry_meta VALUES('containerPath','CONTAINER');
INSERT INTO ferry_meta VALUES('counting','{"awaited":["a7ba2283909a4e0f9740246d5148854c","42b21da0b13d4fec810bfbc6fef9fd8e"],"first":1,"known":[]}');
INSERT INTO ferry_meta VALUES('device',3);
INSERT INTO ferry_meta VALUES('fingerprint','fa12dc00147356beb5adc6565731c9de ebacae6d746e547bb299ff49ee18764b 5ad5a400db55528aa72293c7f1f908fc');
INSERT INTO ferry_meta VALUES('formerDevices','42b21da0b13d4fec810bfbc6fef9fd8e:4');
INSERT INTO ferry_meta VALUES('generations','{"keys":{"1":"id","2":"id","3":"id"},"leaving":{},"left":[],"shown":{},"writers":{}}');
INSERT INTO ferry_meta VALUES('logStart',0);
INSERT INTO ferry_meta VALUES('newestSchema','{"applicationID":0,"device":"a6ca2c9a9e9549dc976a5a0304e8402f","references":[],"statements":[{"name":"artist","sql":"CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL)","table":"artist","type":"table"},{"name":"genre","sql":"CREATE TABLE genre(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)","table":"genre","type":"table"},{"name":"song","sql":"CREATE TABLE song(\n    id INTEGER PRIMARY KEY, title TEXT NOT NULL, artist_id INTEGER REFERENCES artist(id) ON DELETE SET NULL,\n    price REAL, cover BLOB, plays INTEGER NOT NULL DEFAULT 0)","table":"song","type":"table"},{"name":"song_genre","sql":"CREATE TABLE song_genre(\n    song_id INTEGER NOT NULL REFERENCES song(id) ON DELETE CASCADE,\n    genre_id INTEGER NOT NULL REFERENCES genre(id), PRIMARY KEY(song_id, genre_id)) WITHOUT ROWID","table":"song_genre","type":"table"},{"name":"note","sql":"CREATE TABLE note(text TEXT)","table":"note","type":"table"}],"time":117656793244303360,"tracked":[{"identity":"{\"columns\":[],\"kind\":\"surrogate\"}","name":"artist"},{"identity":"{\"columns\":[],\"kind\":\"surrogate\"}","name":"genre"},{"identity":"{\"columns\":[],\"kind\":\"surrogate\"}","name":"song"},{"identity":"{\"columns\":[\"song_id\",\"genre_id\"],\"kind\":\"key\"}","name":"song_genre"},{"identity":"{\"columns\":[\"target\"],\"kind\":\"key\"}","name":"ferry_policy"},{"identity":"{\"columns\":[\"key\"],\"kind\":\"key\"}","name":"ferry_kv_value"},{"identity":"{\"columns\":[\"set\",\"member\"],\"kind\":\"key\"}","name":"ferry_kv_member"},{"identity":"{\"columns\":[\"counter\",\"device\"],\"kind\":\"key\"}","name":"ferry_kv_counter"}],"userVersion":0}');
INSERT INTO ferry_meta VALUES('policies',1);
INSERT INTO ferry_meta VALUES('returned',0);
INSERT INTO ferry_meta VALUES('schemaUnsent',0);
INSERT INTO ferry_meta VALUES('schemaVersion',189);
INSERT INTO ferry_meta VALUES('selection','{"except":[],"identities":{},"references":[]}');
INSERT INTO ferry_meta VALUES('triggers','{"1":5,"2":6,"3":6,"4":5,"5":6,"6":6,"7":5,"8":6}');
INSERT INTO ferry_meta VALUES('version',8);
CREATE TABLE ferry_device(
    number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, name TEXT NOT NULL,
    sequence INTEGER NOT NULL, time INTEGER NOT NULL, checksum BLOB,
    written INTEGER, heard INTEGER, retired INTEGER,
    code TEXT, problem TEXT, since INTEGER);
INSERT INTO ferry_device VALUES(1,X'42b21da0b13d4fec810bfbc6fef9fd8e','laptop',4,117656791768956928,X'948e947d4fa35929b344d1af8072f499',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO ferry_device VALUES(2,X'a7ba2283909a4e0f9740246d5148854c','phone',2,117656791785472000,X'a92d766de7385d289f4089dbd58de54f',1795300166962,1795300166962,NULL,NULL,NULL,NULL);
INSERT INTO ferry_device VALUES(3,X'a6ca2c9a9e9549dc976a5a0304e8402f','laptop',1,117656793244303360,X'fb7818a171c35969b7b55657b926625e',NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE ferry_context(
    author INTEGER NOT NULL, other INTEGER NOT NULL, time INTEGER NOT NULL, seen INTEGER NOT NULL,
    PRIMARY KEY(author, other, time)) WITHOUT ROWID;
INSERT INTO ferry_context VALUES(3,1,1,117656791768956928);
INSERT INTO ferry_context VALUES(3,2,1,117656791785472000);
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
    count INTEGER NOT NULL, shown INTEGER NOT NULL DEFAULT 0, exceptions INTEGER NOT NULL DEFAULT 0, shape INTEGER);
INSERT INTO ferry_digest VALUES(1,3565573716,'0',3148452786971331679,2,0,0,6044455259486226261);
INSERT INTO ferry_digest VALUES(2,437568915,'0',-656912178249002379,4,-7881501712185872798,3,6044455258022658099);
INSERT INTO ferry_digest VALUES(3,368829599,'0,1,2,3,4',-1084217644637286776,3,0,0,6735161944028254838);
INSERT INTO ferry_digest VALUES(4,2632497654,'0,1',-4851595515743020792,3,-6680995355551803623,2,315095429549468225);
INSERT INTO ferry_digest VALUES(5,1975497693,'0,1',4799995261025943046,1,0,0,-3587369809049810191);
INSERT INTO ferry_digest VALUES(6,949377226,'0,1',-3135731548866070267,1,0,0,7542334438985015755);
INSERT INTO ferry_digest VALUES(7,1230359071,'0,1',-6822402923447110136,3,0,0,2309937045202020263);
INSERT INTO ferry_digest VALUES(8,3852726480,'0,1,2',2820597751371374838,2,0,0,3373213397270003646);
CREATE TABLE ferry_pending(
    sequence INTEGER PRIMARY KEY, "table" INTEGER NOT NULL, event INTEGER NOT NULL, mask INTEGER, at REAL,
    value, k0, k1);
CREATE TABLE ferry_outbox(
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, changes INTEGER NOT NULL, checksum BLOB NOT NULL,
    bytes BLOB NOT NULL);
INSERT INTO ferry_outbox VALUES(1,1,3,X'fb7818a171c35969b7b55657b926625e',X'465259530101000096f5909e503b4726ac85b7afb87f57bea6ca2c9a9e9549dc976a5a0304e8402f010000000000000001000000000000000000bde63a00a20100000000000000000000000000000000e3030000000000006502000000000000030000000600000078019553cd8bd340149fc947bfb66eebaeba7b5018c44303413c0ba2693b758b31b169caba7828d966ac61d3a4a4b3c51e8488c8de444f822759043d097e1e043d7a15ff010f9e3c781441c4c549d2d69645c121c9ccbc79f37bbfdf7b2fab22b5365d92b202ea0ca8d8255e408481ef7573d1a79dec3d9f9274bc77ec4c6c6a3b76fe2a098251bbefbb4e6794a256d0257431b16d0ddb43cbdd26fc161915a6a61ee96d92801f109a4a96c5e951c7dff62809d2e3396593a1d3218267f588481dea926cc28f8515fb013b123bfe900462dfb54603aefcfcd8c36767f4af37177ebedffbf1ebcee337c76fdd7da015ee9f3bd16bacdd5621dc05a7771a1feea9d7dc2b1c04708907e2f2a1c34756c2f0dbaba73be147c801210c5f7e7f12ad2117868ff69225002280f06cc5c08a8991a994558c122a25c74675cdc4e7b1812e19f58b8ab1812ee00d1945a491892f9b48d3d9db525509701c9e838873f81f08a8a5d51b2d2c019e7f0be790a2aa9472888dbff189f3374f481e6b60e99c6a30700d1b58abe0e61f8112d23554c52a66da9b381123c7c1e222209615554671295059d5cb328a0b32c59c248061d494966aa25312108477fb15247d96e818f7d97e901986b16ac79ee557519a15a58a137a931efd27c8a408923c5bc0d238be8c26209284d6ebe69ade3291a1afd7ab40148fced520fa3d4a945ca77196a50c041ce08100b9543a03613607e1421e7207160b902b1ee4583fb187f9b04e0cc32f6c93813c0420afd816524fb256144134b8c80fe4e06eaeb6f4e9f5f20dfae233b33257368a00ac44200c9eb944b757359fa201f1281a112a46e62cbb1dcd8bbf017cc5196afb7818a171c35969b7b55657b926625e');
CREATE TABLE ferry_segment(
    first INTEGER NOT NULL, last INTEGER NOT NULL, changes INTEGER NOT NULL, bytes INTEGER NOT NULL,
    checksum BLOB NOT NULL, time INTEGER NOT NULL, published INTEGER NOT NULL, replaced INTEGER,
    PRIMARY KEY(first, last)) WITHOUT ROWID;
CREATE TABLE ferry_exception(
    "table" INTEGER NOT NULL, object BLOB NOT NULL, kind INTEGER NOT NULL, reason TEXT NOT NULL, "check" INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY("table", object)) WITHOUT ROWID;
INSERT INTO ferry_exception VALUES(2,X'01a2003a8751cf914c686c5b00000004',4,'deleted, but other rows still refer to it',3561095256945219524);
INSERT INTO ferry_exception VALUES(2,X'01a2003a90674fba93571b6a00000001',7,'shows 2 rows as one',-5767769530427602814);
INSERT INTO ferry_exception VALUES(2,X'01a2003a9212a5f45e7bf0d800000001',6,'one row with an older one that has the same name',-5674827438703489508);
INSERT INTO ferry_exception VALUES(4,X'1e7225114cd657a1a21d1ff4e72221a8',1,'song_id refers to a row that is not there',4488230714859497056);
INSERT INTO ferry_exception VALUES(4,X'42ad8ebbde2a5c068b29682548e0663f',1,'song_id refers to a row that is not there',7277518003298250937);
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
INSERT INTO ferry_object_1 VALUES(X'01a2003a8751cf914c686c5b00000001',1,1,4796254110726729799,X'050000dd863a00a2010100040000a0e63a00a201',NULL);
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
INSERT INTO ferry_object_3 VALUES(X'01a2003a8751cf914c686c5b00000006',NULL,24,0,X'170000df863a00a201010000bde63a00a20103feffffff0f0401010400',X'00010401030354776f020501a2003a8751cf914c686c5b0000000103000400050104');
INSERT INTO ferry_object_3 VALUES(X'01a2003a8751cf914c686c5b00000007',NULL,24,0,X'170000df863a00a201010000c98e3a00a20101feffffff0f0401010600',X'0001060103055468726565020501a2003a8751cf914c686c5b000000020302000000000000e0bf0400050106');
INSERT INTO ferry_object_3 VALUES(X'01a2003a9212a5f45e7bf0d800000003',4,1,-5017744788416377816,X'150000198f3a00a20102feffffff0f0401010000',NULL);
INSERT INTO ferry_object_3 VALUES(X'01a20a4612deb6137d74b3e200000001',5,1,1598430447888913499,X'150000a6e63a00a20103feffffff0f0401010e00',NULL);
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
CREATE TABLE ferry_old_4(sequence INTEGER PRIMARY KEY, c0, c1);
CREATE TABLE ferry_old_5(sequence INTEGER PRIMARY KEY, c0, c1);
CREATE TABLE ferry_old_6(sequence INTEGER PRIMARY KEY, c0, c1);
CREATE TABLE ferry_old_7(sequence INTEGER PRIMARY KEY, c0, c1);
CREATE TABLE ferry_old_8(sequence INTEGER PRIMARY KEY, c0, c1, c2);
CREATE TABLE ferry_table(number INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, identity TEXT NOT NULL);
INSERT INTO ferry_table VALUES(1,'artist','{"columns":[],"kind":"surrogate"}');
INSERT INTO ferry_table VALUES(2,'genre','{"columns":[],"kind":"surrogate"}');
INSERT INTO ferry_table VALUES(3,'song','{"columns":[],"kind":"surrogate"}');
INSERT INTO ferry_table VALUES(4,'song_genre','{"columns":["song_id","genre_id"],"kind":"key"}');
INSERT INTO ferry_table VALUES(5,'ferry_policy','{"columns":["target"],"kind":"key"}');
INSERT INTO ferry_table VALUES(6,'ferry_kv_value','{"columns":["key"],"kind":"key"}');
INSERT INTO ferry_table VALUES(7,'ferry_kv_member','{"columns":["set","member"],"kind":"key"}');
INSERT INTO ferry_table VALUES(8,'ferry_kv_counter','{"columns":["counter","device"],"kind":"key"}');
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
CREATE TRIGGER ferry_1_insert AFTER INSERT ON "artist" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (1, 1, julianday('now'), NEW."id"); END;
CREATE TRIGGER ferry_1_delete AFTER DELETE ON "artist" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (1, 3, julianday('now'), OLD."id"); INSERT INTO ferry_old_1(sequence, c0) VALUES (last_insert_rowid(), OLD."name"); END;
CREATE TRIGGER ferry_1_update_0 AFTER UPDATE ON "artist" WHEN OLD."id" IS NEW."id" BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0) VALUES (1, 2, julianday('now'), (OLD."name" IS NOT NEW."name") * 1, NEW."id"); END;
CREATE TRIGGER ferry_1_rekey AFTER UPDATE OF "id", "rowid", "oid", "_rowid_" ON "artist" WHEN OLD."id" IS NOT NEW."id" BEGIN INSERT INTO ferry_pending("table", event, at, value, k0) VALUES (1, 6, julianday('now'), OLD."id", NEW."id"); INSERT INTO ferry_pending("table", event, at, mask, k0) SELECT 1, 2, julianday('now'), (OLD."name" IS NOT NEW."name") * 1, NEW."id" WHERE (OLD."name" IS NOT NEW."name"); END;
CREATE TRIGGER ferry_1_displace_update BEFORE UPDATE OF "id", "rowid", "oid", "_rowid_" ON "artist" WHEN (OLD."id" IS NOT NEW."id") BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 1, 4, julianday('now'), holder."id" FROM "artist" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); INSERT INTO ferry_old_1(sequence, c0) SELECT last_insert_rowid(), holder."name" FROM "artist" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); END;
CREATE TRIGGER ferry_2_insert AFTER INSERT ON "genre" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (2, 1, julianday('now'), NEW."id"); END;
CREATE TRIGGER ferry_2_delete AFTER DELETE ON "genre" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (2, 3, julianday('now'), OLD."id"); INSERT INTO ferry_old_2(sequence, c0) VALUES (last_insert_rowid(), OLD."name"); END;
CREATE TRIGGER ferry_2_update_0 AFTER UPDATE ON "genre" WHEN OLD."id" IS NEW."id" BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0) VALUES (2, 2, julianday('now'), (OLD."name" IS NOT NEW."name") * 1, NEW."id"); END;
CREATE TRIGGER ferry_2_rekey AFTER UPDATE OF "id", "rowid", "oid", "_rowid_" ON "genre" WHEN OLD."id" IS NOT NEW."id" BEGIN INSERT INTO ferry_pending("table", event, at, value, k0) VALUES (2, 6, julianday('now'), OLD."id", NEW."id"); INSERT INTO ferry_pending("table", event, at, mask, k0) SELECT 2, 2, julianday('now'), (OLD."name" IS NOT NEW."name") * 1, NEW."id" WHERE (OLD."name" IS NOT NEW."name"); END;
CREATE TRIGGER ferry_2_displace_insert BEFORE INSERT ON "genre" BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 2, 4, julianday('now'), holder."id" FROM "genre" AS holder WHERE holder."name" COLLATE "BINARY" = NEW."name" AND (NEW."id" = -1 OR NOT (holder."id" IS NEW."id")); INSERT INTO ferry_old_2(sequence, c0) SELECT last_insert_rowid(), holder."name" FROM "genre" AS holder WHERE holder."name" COLLATE "BINARY" = NEW."name" AND (NEW."id" = -1 OR NOT (holder."id" IS NEW."id")); END;
CREATE TRIGGER ferry_2_displace_update BEFORE UPDATE OF "id", "name", "rowid", "oid", "_rowid_" ON "genre" WHEN (OLD."name" IS NOT NEW."name") OR (OLD."id" IS NOT NEW."id") BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 2, 4, julianday('now'), holder."id" FROM "genre" AS holder WHERE holder."name" COLLATE "BINARY" = NEW."name" AND NOT (holder."id" IS OLD."id"); INSERT INTO ferry_old_2(sequence, c0) SELECT last_insert_rowid(), holder."name" FROM "genre" AS holder WHERE holder."name" COLLATE "BINARY" = NEW."name" AND NOT (holder."id" IS OLD."id"); INSERT INTO ferry_pending("table", event, at, k0) SELECT 2, 4, julianday('now'), holder."id" FROM "genre" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); INSERT INTO ferry_old_2(sequence, c0) SELECT last_insert_rowid(), holder."name" FROM "genre" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); END;
CREATE TRIGGER ferry_3_insert AFTER INSERT ON "song" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (3, 1, julianday('now'), NEW."id"); END;
CREATE TRIGGER ferry_3_delete AFTER DELETE ON "song" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (3, 3, julianday('now'), OLD."id"); INSERT INTO ferry_old_3(sequence, c0, c1, c2, c3, c4) VALUES (last_insert_rowid(), OLD."title", OLD."artist_id", OLD."price", OLD."cover", OLD."plays"); END;
CREATE TRIGGER ferry_3_update_0 AFTER UPDATE ON "song" WHEN OLD."id" IS NEW."id" BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0) VALUES (3, 2, julianday('now'), (OLD."title" IS NOT NEW."title") * 1 | (OLD."artist_id" IS NOT NEW."artist_id") * 2 | (OLD."price" IS NOT NEW."price") * 4 | (OLD."cover" IS NOT NEW."cover" OR OLD."cover" < '' AND typeof(OLD."cover") <> typeof(NEW."cover")) * 8 | (OLD."plays" IS NOT NEW."plays") * 16, NEW."id"); END;
CREATE TRIGGER ferry_3_rekey AFTER UPDATE OF "id", "rowid", "oid", "_rowid_" ON "song" WHEN OLD."id" IS NOT NEW."id" BEGIN INSERT INTO ferry_pending("table", event, at, value, k0) VALUES (3, 6, julianday('now'), OLD."id", NEW."id"); INSERT INTO ferry_pending("table", event, at, mask, k0) SELECT 3, 2, julianday('now'), (OLD."title" IS NOT NEW."title") * 1 | (OLD."artist_id" IS NOT NEW."artist_id") * 2 | (OLD."price" IS NOT NEW."price") * 4 | (OLD."cover" IS NOT NEW."cover" OR OLD."cover" < '' AND typeof(OLD."cover") <> typeof(NEW."cover")) * 8 | (OLD."plays" IS NOT NEW."plays") * 16, NEW."id" WHERE (OLD."title" IS NOT NEW."title") OR (OLD."artist_id" IS NOT NEW."artist_id") OR (OLD."price" IS NOT NEW."price") OR (OLD."cover" IS NOT NEW."cover" OR OLD."cover" < '' AND typeof(OLD."cover") <> typeof(NEW."cover")) OR (OLD."plays" IS NOT NEW."plays"); INSERT INTO ferry_pending("table", event, at, mask, value, k0) SELECT 3, 5, julianday('now'), 1, OLD."artist_id", NEW."id" WHERE OLD."artist_id" IS NOT NULL AND (OLD."artist_id" IS NOT NEW."artist_id"); END;
CREATE TRIGGER ferry_3_reference_1 AFTER UPDATE OF "artist_id" ON "song" WHEN OLD."id" IS NEW."id" AND OLD."artist_id" IS NOT NULL AND (OLD."artist_id" IS NOT NEW."artist_id") BEGIN INSERT INTO ferry_pending("table", event, at, mask, value, k0) VALUES (3, 5, julianday('now'), 1, OLD."artist_id", NEW."id"); END;
CREATE TRIGGER ferry_3_displace_update BEFORE UPDATE OF "id", "rowid", "oid", "_rowid_" ON "song" WHEN (OLD."id" IS NOT NEW."id") BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 3, 4, julianday('now'), holder."id" FROM "song" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); INSERT INTO ferry_old_3(sequence, c0, c1, c2, c3, c4) SELECT last_insert_rowid(), holder."title", holder."artist_id", holder."price", holder."cover", holder."plays" FROM "song" AS holder WHERE holder."id" = NEW."id" AND NOT (holder."id" IS OLD."id"); END;
CREATE TRIGGER ferry_4_insert AFTER INSERT ON "song_genre" BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (4, 1, julianday('now'), NEW."song_id", NEW."genre_id"); END;
CREATE TRIGGER ferry_4_delete AFTER DELETE ON "song_genre" BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (4, 3, julianday('now'), OLD."song_id", OLD."genre_id"); INSERT INTO ferry_old_4(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."song_id", OLD."genre_id"); END;
CREATE TRIGGER ferry_4_update_key_0 AFTER UPDATE OF "song_id", "genre_id", "rowid", "oid", "_rowid_" ON "song_genre" WHEN OLD."song_id" IS NEW."song_id" AND OLD."genre_id" IS NEW."genre_id" AND ((OLD."song_id" IS NOT NEW."song_id") OR (OLD."genre_id" IS NOT NEW."genre_id")) BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0, k1) VALUES (4, 2, julianday('now'), (OLD."song_id" IS NOT NEW."song_id") * 1 | (OLD."genre_id" IS NOT NEW."genre_id") * 2, NEW."song_id", NEW."genre_id"); END;
CREATE TRIGGER ferry_4_rekey AFTER UPDATE OF "song_id", "genre_id", "rowid", "oid", "_rowid_" ON "song_genre" WHEN OLD."song_id" IS NOT NEW."song_id" OR OLD."genre_id" IS NOT NEW."genre_id" BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (4, 3, julianday('now'), OLD."song_id", OLD."genre_id"); INSERT INTO ferry_old_4(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."song_id", OLD."genre_id"); INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (4, 1, julianday('now'), NEW."song_id", NEW."genre_id"); END;
CREATE TRIGGER ferry_4_displace_update BEFORE UPDATE OF "song_id", "genre_id", "rowid", "oid", "_rowid_" ON "song_genre" WHEN (OLD."song_id" IS NOT NEW."song_id" OR OLD."genre_id" IS NOT NEW."genre_id") BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) SELECT 4, 4, julianday('now'), holder."song_id", holder."genre_id" FROM "song_genre" AS holder WHERE holder."song_id" = NEW."song_id" AND holder."genre_id" = NEW."genre_id" AND NOT (holder."song_id" IS OLD."song_id" AND holder."genre_id" IS OLD."genre_id"); INSERT INTO ferry_old_4(sequence, c0, c1) SELECT last_insert_rowid(), holder."song_id", holder."genre_id" FROM "song_genre" AS holder WHERE holder."song_id" = NEW."song_id" AND holder."genre_id" = NEW."genre_id" AND NOT (holder."song_id" IS OLD."song_id" AND holder."genre_id" IS OLD."genre_id"); END;
CREATE TRIGGER ferry_5_insert AFTER INSERT ON "ferry_policy" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (5, 1, julianday('now'), NEW."target"); END;
CREATE TRIGGER ferry_5_delete AFTER DELETE ON "ferry_policy" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (5, 3, julianday('now'), OLD."target"); INSERT INTO ferry_old_5(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."target", OLD."policy"); END;
CREATE TRIGGER ferry_5_update_0 AFTER UPDATE ON "ferry_policy" WHEN OLD."target" IS NEW."target" BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0) VALUES (5, 2, julianday('now'), (OLD."policy" IS NOT NEW."policy") * 2, NEW."target"); END;
CREATE TRIGGER ferry_5_update_key_0 AFTER UPDATE OF "target", "rowid", "oid", "_rowid_" ON "ferry_policy" WHEN OLD."target" IS NEW."target" AND ((OLD."target" IS NOT NEW."target")) BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0) VALUES (5, 2, julianday('now'), (OLD."target" IS NOT NEW."target") * 1, NEW."target"); END;
CREATE TRIGGER ferry_5_rekey AFTER UPDATE OF "target", "rowid", "oid", "_rowid_" ON "ferry_policy" WHEN OLD."target" IS NOT NEW."target" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (5, 3, julianday('now'), OLD."target"); INSERT INTO ferry_old_5(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."target", OLD."policy"); INSERT INTO ferry_pending("table", event, at, k0) VALUES (5, 1, julianday('now'), NEW."target"); END;
CREATE TRIGGER ferry_5_displace_update BEFORE UPDATE OF "target", "rowid", "oid", "_rowid_" ON "ferry_policy" WHEN (OLD."target" IS NOT NEW."target") BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 5, 4, julianday('now'), holder."target" FROM "ferry_policy" AS holder WHERE holder."target" = NEW."target" AND NOT (holder."target" IS OLD."target"); INSERT INTO ferry_old_5(sequence, c0, c1) SELECT last_insert_rowid(), holder."target", holder."policy" FROM "ferry_policy" AS holder WHERE holder."target" = NEW."target" AND NOT (holder."target" IS OLD."target"); END;
CREATE TRIGGER ferry_6_insert AFTER INSERT ON "ferry_kv_value" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (6, 1, julianday('now'), NEW."key"); END;
CREATE TRIGGER ferry_6_delete AFTER DELETE ON "ferry_kv_value" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (6, 3, julianday('now'), OLD."key"); INSERT INTO ferry_old_6(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."key", OLD."value"); END;
CREATE TRIGGER ferry_6_update_0 AFTER UPDATE ON "ferry_kv_value" WHEN OLD."key" IS NEW."key" BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0) VALUES (6, 2, julianday('now'), (OLD."value" IS NOT NEW."value" OR OLD."value" < '' AND typeof(OLD."value") <> typeof(NEW."value")) * 2, NEW."key"); END;
CREATE TRIGGER ferry_6_update_key_0 AFTER UPDATE OF "key", "rowid", "oid", "_rowid_" ON "ferry_kv_value" WHEN OLD."key" IS NEW."key" AND ((OLD."key" IS NOT NEW."key")) BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0) VALUES (6, 2, julianday('now'), (OLD."key" IS NOT NEW."key") * 1, NEW."key"); END;
CREATE TRIGGER ferry_6_rekey AFTER UPDATE OF "key", "rowid", "oid", "_rowid_" ON "ferry_kv_value" WHEN OLD."key" IS NOT NEW."key" BEGIN INSERT INTO ferry_pending("table", event, at, k0) VALUES (6, 3, julianday('now'), OLD."key"); INSERT INTO ferry_old_6(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."key", OLD."value"); INSERT INTO ferry_pending("table", event, at, k0) VALUES (6, 1, julianday('now'), NEW."key"); END;
CREATE TRIGGER ferry_6_displace_update BEFORE UPDATE OF "key", "rowid", "oid", "_rowid_" ON "ferry_kv_value" WHEN (OLD."key" IS NOT NEW."key") BEGIN INSERT INTO ferry_pending("table", event, at, k0) SELECT 6, 4, julianday('now'), holder."key" FROM "ferry_kv_value" AS holder WHERE holder."key" = NEW."key" AND NOT (holder."key" IS OLD."key"); INSERT INTO ferry_old_6(sequence, c0, c1) SELECT last_insert_rowid(), holder."key", holder."value" FROM "ferry_kv_value" AS holder WHERE holder."key" = NEW."key" AND NOT (holder."key" IS OLD."key"); END;
CREATE TRIGGER ferry_7_insert AFTER INSERT ON "ferry_kv_member" BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (7, 1, julianday('now'), NEW."set", NEW."member"); END;
CREATE TRIGGER ferry_7_delete AFTER DELETE ON "ferry_kv_member" BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (7, 3, julianday('now'), OLD."set", OLD."member"); INSERT INTO ferry_old_7(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."set", OLD."member"); END;
CREATE TRIGGER ferry_7_update_key_0 AFTER UPDATE OF "set", "member", "rowid", "oid", "_rowid_" ON "ferry_kv_member" WHEN OLD."set" IS NEW."set" AND OLD."member" IS NEW."member" AND ((OLD."set" IS NOT NEW."set") OR (OLD."member" IS NOT NEW."member")) BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0, k1) VALUES (7, 2, julianday('now'), (OLD."set" IS NOT NEW."set") * 1 | (OLD."member" IS NOT NEW."member") * 2, NEW."set", NEW."member"); END;
CREATE TRIGGER ferry_7_rekey AFTER UPDATE OF "set", "member", "rowid", "oid", "_rowid_" ON "ferry_kv_member" WHEN OLD."set" IS NOT NEW."set" OR OLD."member" IS NOT NEW."member" BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (7, 3, julianday('now'), OLD."set", OLD."member"); INSERT INTO ferry_old_7(sequence, c0, c1) VALUES (last_insert_rowid(), OLD."set", OLD."member"); INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (7, 1, julianday('now'), NEW."set", NEW."member"); END;
CREATE TRIGGER ferry_7_displace_update BEFORE UPDATE OF "set", "member", "rowid", "oid", "_rowid_" ON "ferry_kv_member" WHEN (OLD."set" IS NOT NEW."set" OR OLD."member" IS NOT NEW."member") BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) SELECT 7, 4, julianday('now'), holder."set", holder."member" FROM "ferry_kv_member" AS holder WHERE holder."set" = NEW."set" AND holder."member" = NEW."member" AND NOT (holder."set" IS OLD."set" AND holder."member" IS OLD."member"); INSERT INTO ferry_old_7(sequence, c0, c1) SELECT last_insert_rowid(), holder."set", holder."member" FROM "ferry_kv_member" AS holder WHERE holder."set" = NEW."set" AND holder."member" = NEW."member" AND NOT (holder."set" IS OLD."set" AND holder."member" IS OLD."member"); END;
CREATE TRIGGER ferry_8_insert AFTER INSERT ON "ferry_kv_counter" BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (8, 1, julianday('now'), NEW."counter", NEW."device"); END;
CREATE TRIGGER ferry_8_delete AFTER DELETE ON "ferry_kv_counter" BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (8, 3, julianday('now'), OLD."counter", OLD."device"); INSERT INTO ferry_old_8(sequence, c0, c1, c2) VALUES (last_insert_rowid(), OLD."counter", OLD."device", OLD."amount"); END;
CREATE TRIGGER ferry_8_update_0 AFTER UPDATE ON "ferry_kv_counter" WHEN OLD."counter" IS NEW."counter" AND OLD."device" IS NEW."device" BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0, k1) VALUES (8, 2, julianday('now'), (OLD."amount" IS NOT NEW."amount") * 4, NEW."counter", NEW."device"); END;
CREATE TRIGGER ferry_8_update_key_0 AFTER UPDATE OF "counter", "device", "rowid", "oid", "_rowid_" ON "ferry_kv_counter" WHEN OLD."counter" IS NEW."counter" AND OLD."device" IS NEW."device" AND ((OLD."counter" IS NOT NEW."counter") OR (OLD."device" IS NOT NEW."device" OR OLD."device" < '' AND typeof(OLD."device") <> typeof(NEW."device"))) BEGIN INSERT INTO ferry_pending("table", event, at, mask, k0, k1) VALUES (8, 2, julianday('now'), (OLD."counter" IS NOT NEW."counter") * 1 | (OLD."device" IS NOT NEW."device" OR OLD."device" < '' AND typeof(OLD."device") <> typeof(NEW."device")) * 2, NEW."counter", NEW."device"); END;
CREATE TRIGGER ferry_8_rekey AFTER UPDATE OF "counter", "device", "rowid", "oid", "_rowid_" ON "ferry_kv_counter" WHEN OLD."counter" IS NOT NEW."counter" OR OLD."device" IS NOT NEW."device" BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (8, 3, julianday('now'), OLD."counter", OLD."device"); INSERT INTO ferry_old_8(sequence, c0, c1, c2) VALUES (last_insert_rowid(), OLD."counter", OLD."device", OLD."amount"); INSERT INTO ferry_pending("table", event, at, k0, k1) VALUES (8, 1, julianday('now'), NEW."counter", NEW."device"); END;
CREATE TRIGGER ferry_8_displace_update BEFORE UPDATE OF "counter", "device", "rowid", "oid", "_rowid_" ON "ferry_kv_counter" WHEN (OLD."counter" IS NOT NEW."counter" OR OLD."device" IS NOT NEW."device") BEGIN INSERT INTO ferry_pending("table", event, at, k0, k1) SELECT 8, 4, julianday('now'), holder."counter", holder."device" FROM "ferry_kv_counter" AS holder WHERE holder."counter" = NEW."counter" AND holder."device" = NEW."device" AND NOT (holder."counter" IS OLD."counter" AND holder."device" IS OLD."device"); INSERT INTO ferry_old_8(sequence, c0, c1, c2) SELECT last_insert_rowid(), holder."counter", holder."device", holder."amount" FROM "ferry_kv_counter" AS holder WHERE holder."counter" = NEW."counter" AND holder."device" = NEW."device" AND NOT (holder."counter" IS OLD."counter" AND holder."device" IS OLD."device"); END;
COMMIT;
