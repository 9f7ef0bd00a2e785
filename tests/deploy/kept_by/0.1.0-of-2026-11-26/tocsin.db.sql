BEGIN TRANSACTION;
CREATE TABLE access_links (
        hash BLOB PRIMARY KEY,
        expires_at REAL NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE access_password (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        hash TEXT NOT NULL
    );
CREATE TABLE access_sessions (
        hash BLOB PRIMARY KEY,
        user TEXT NOT NULL,
        credential TEXT NOT NULL, -- the session ends when the login has another one
        remember INTEGER NOT NULL,
        created_at REAL NOT NULL,
        seen_at REAL NOT NULL,
        expires_at REAL NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE access_tokens (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        hash BLOB NOT NULL UNIQUE,
        scopes TEXT NOT NULL,
        created_at REAL NOT NULL,
        last_used_at REAL
    ) WITHOUT ROWID;
INSERT INTO "access_tokens" VALUES('01a219af-eaa6-7fbc-a320-a3f154122494','reader',X'BDF89E6A662DC576735A13114586081DC589862EBE7B791CB1B4E370B377AFF7','read',1795727288.99902,NULL);
INSERT INTO "access_tokens" VALUES('01a219af-ebb5-77c0-969d-93e056bf6b9f','proof',X'21BCB6CC646B902C09E3D2DE1A26F16CA1F82624BC54490A35CF1CDC3B783BA8','admin',1.79572728926951122284e+09,1.79572729941138529777e+09);
CREATE TABLE assistant_calls (
        run_id TEXT PRIMARY KEY,
        at REAL NOT NULL,
        questions INTEGER NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE assistant_results (
        run_id TEXT PRIMARY KEY,
        skill TEXT NOT NULL,
        folder TEXT NOT NULL,
        findings TEXT NOT NULL,
        patch TEXT NOT NULL,
        created_at REAL NOT NULL,
        applied_at REAL
    , changes TEXT NOT NULL DEFAULT '[]') WITHOUT ROWID;
CREATE TABLE assistant_versions (
        skill TEXT NOT NULL,
        folder TEXT NOT NULL,
        path TEXT NOT NULL,
        version TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (skill, folder, path, version)
    ) WITHOUT ROWID;
CREATE TABLE boot (id TEXT NOT NULL);
INSERT INTO "boot" VALUES('04bae146-4d6e-4747-bcb7-2909d75c203f');
CREATE TABLE bot_access (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
INSERT INTO "bot_access" VALUES('1001','{"state": "allowed", "details": "{}", "at": "1795727289731151", "told": false, "notice": ""}',1.79572728973115134246e+09);
INSERT INTO "bot_access" VALUES('1002','{"state": "denied", "details": "{}", "at": "1795727290154486", "told": false, "notice": ""}',1.79572729015448570252e+09);
INSERT INTO "bot_access" VALUES('1003','{"state": "pending", "details": "{\"name\": \"Carl\", \"username\": \"carl\"}", "at": "1795727291198972", "told": false, "notice": ""}',1.79572729119897198674e+09);
CREATE TABLE bot_chat_work (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE bot_modes (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE bot_moves (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE bot_plans (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE bot_previews (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE browser_processes (
        profile TEXT PRIMARY KEY,
        user_data_dir TEXT NOT NULL,
        pid INTEGER NOT NULL,
        identity TEXT NOT NULL,
        port INTEGER,
        started_at REAL NOT NULL,
        ended_at REAL,
        problem TEXT NOT NULL
    ) STRICT;
CREATE TABLE changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        topic TEXT NOT NULL,
        subject TEXT NOT NULL,
        kind TEXT NOT NULL,
        at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
    ) STRICT;
INSERT INTO "changes" VALUES(1,'notifications','01a219af-e2fe-7c68-9530-553b2d8e0216','created',1.79572728703899979593e+09);
INSERT INTO "changes" VALUES(2,'cron','01a219af-e560-71b6-b75b-d0558821f963','created',1.79572728764800882339e+09);
INSERT INTO "changes" VALUES(3,'cron','01a219af-f0b5-7148-9561-30e2dff374a3','created',1.79572729054998445506e+09);
INSERT INTO "changes" VALUES(4,'runs','01a219af-f24b-7d66-aedc-3af84a344fce','created',1.79572729095698308942e+09);
INSERT INTO "changes" VALUES(5,'cron','01a219af-f0b5-7148-9561-30e2dff374a3','updated',1.79572729098900842666e+09);
INSERT INTO "changes" VALUES(6,'runs','01a219af-f24b-7d66-aedc-3af84a344fce','updated',1.79572729098900842666e+09);
INSERT INTO "changes" VALUES(7,'runs','01a219af-f24b-7d66-aedc-3af84a344fce','updated',1.79572729101499915121e+09);
INSERT INTO "changes" VALUES(8,'notifications','01a219af-f2cd-749f-8031-5056c65b001f','created',1.79572729108500480656e+09);
INSERT INTO "changes" VALUES(9,'runs','01a219af-f33e-7aad-ba7f-754f6aeaa344','created',1.79572729120300865176e+09);
INSERT INTO "changes" VALUES(10,'runs','01a219af-f33e-7aad-ba7f-754f6aeaa344','updated',1.79572729129598736763e+09);
INSERT INTO "changes" VALUES(11,'runs','01a219af-f47a-765f-a8a5-fd1c5e963eb1','created',1.79572729157500410087e+09);
INSERT INTO "changes" VALUES(12,'runs','01a219af-f47a-765f-a8a5-fd1c5e963eb1','updated',1.79572729160300636292e+09);
INSERT INTO "changes" VALUES(13,'runs','01a219af-f67f-75b7-9f55-4577b5e82b21','created',1.7957272920380070209e+09);
INSERT INTO "changes" VALUES(14,'runs','01a219af-f67f-75b7-9f55-4577b5e82b21','updated',1.7957272920409843922e+09);
INSERT INTO "changes" VALUES(15,'runs','01a219af-f67f-75b7-9f55-4577b5e82b21','updated',1.7957272920409843922e+09);
INSERT INTO "changes" VALUES(16,'runs','01a219af-f67f-75b7-9f55-4577b5e82b21','updated',1.7957272920419902802e+09);
INSERT INTO "changes" VALUES(17,'runs','01a219af-f67f-75b7-9f55-4577b5e82b21','updated',1795727292.092);
INSERT INTO "changes" VALUES(18,'runs','01a219af-f67f-75b7-9f55-4577b5e82b21','updated',1.79572729209300565719e+09);
INSERT INTO "changes" VALUES(19,'runs','01a219af-f67f-75b7-9f55-4577b5e82b21','updated',1.79572729210901856425e+09);
INSERT INTO "changes" VALUES(20,'runs','01a219af-f67f-75b7-9f55-4577b5e82b21','updated',1795727292.11099);
INSERT INTO "changes" VALUES(21,'runs','01a219af-f8df-76d4-9212-3380b1b09363','created',1.7957272926489875317e+09);
INSERT INTO "changes" VALUES(22,'runs','01a219af-f8df-76d4-9212-3380b1b09363','updated',1.79572729265498208994e+09);
INSERT INTO "changes" VALUES(23,'runs','01a219af-f8df-76d4-9212-3380b1b09363','updated',1.79572729265498208994e+09);
INSERT INTO "changes" VALUES(24,'runs','01a219af-f8df-76d4-9212-3380b1b09363','updated',1.79572729265498208994e+09);
INSERT INTO "changes" VALUES(25,'runs','01a219af-f8df-76d4-9212-3380b1b09363','updated',1.79572729265799975397e+09);
INSERT INTO "changes" VALUES(26,'runs','01a219af-f8df-76d4-9212-3380b1b09363','updated',1.79572729270100879669e+09);
INSERT INTO "changes" VALUES(27,'runs','01a219af-f8df-76d4-9212-3380b1b09363','updated',1.7957272927150101662e+09);
INSERT INTO "changes" VALUES(28,'runs','01a219af-f8df-76d4-9212-3380b1b09363','updated',1.79572729271899318693e+09);
INSERT INTO "changes" VALUES(29,'runs','01a219af-f8df-76d4-9212-3380b1b09363','updated',1.79572729284299159049e+09);
INSERT INTO "changes" VALUES(30,'notifications','01a219af-f9be-7a6c-bf51-f21400427eac','created',1.79572729286198163028e+09);
INSERT INTO "changes" VALUES(31,'notifications','01a219af-fa73-7c9b-9a34-c0a811a534d5','created',1.79572729304299068446e+09);
INSERT INTO "changes" VALUES(32,'runs','01a219af-fac6-7f9d-85b5-9cf69bf158fc','created',1.79572729313001489643e+09);
INSERT INTO "changes" VALUES(33,'runs','01a219af-fac6-7f9d-85b5-9cf69bf158fc','updated',1.79572729319301986694e+09);
INSERT INTO "changes" VALUES(34,'jobs','01a219af-fcc2-7e9f-a9ec-60c153ec4e54','created',1.79572729364399313921e+09);
INSERT INTO "changes" VALUES(35,'cron','01a219b0-004b-72f2-9925-6805fdae6ea2','created',1.79572729453998517984e+09);
INSERT INTO "changes" VALUES(36,'runs','01a219b0-0437-7e4a-94bd-0c6f49676b5f','created',1.79572729554400300979e+09);
INSERT INTO "changes" VALUES(37,'cron','01a219b0-004b-72f2-9925-6805fdae6ea2','updated',1.79572729554899191859e+09);
INSERT INTO "changes" VALUES(38,'runs','01a219b0-0437-7e4a-94bd-0c6f49676b5f','updated',1.79572729555498647683e+09);
INSERT INTO "changes" VALUES(39,'cron','01a219b0-004b-72f2-9925-6805fdae6ea2','updated',1.79572729557699418065e+09);
INSERT INTO "changes" VALUES(40,'runs','01a219b0-0437-7e4a-94bd-0c6f49676b5f','updated',1.79572729557699418065e+09);
INSERT INTO "changes" VALUES(41,'runs','01a219b0-0820-7008-bc34-b5600bdb44f7','created',1.7957272965439975261e+09);
INSERT INTO "changes" VALUES(42,'cron','01a219b0-004b-72f2-9925-6805fdae6ea2','updated',1.79572729654600906374e+09);
INSERT INTO "changes" VALUES(43,'runs','01a219b0-0820-7008-bc34-b5600bdb44f7','updated',1.79572729655300974841e+09);
INSERT INTO "changes" VALUES(44,'cron','01a219b0-004b-72f2-9925-6805fdae6ea2','updated',1.79572729657900047308e+09);
INSERT INTO "changes" VALUES(45,'runs','01a219b0-0820-7008-bc34-b5600bdb44f7','updated',1.79572729657900047308e+09);
INSERT INTO "changes" VALUES(46,'runs','01a219af-f24b-7d66-aedc-3af84a344fce','updated',1.79572729660100793838e+09);
INSERT INTO "changes" VALUES(47,'runs','01a219b0-0c05-7f13-8ced-906f5b99d66e','created',1.79572729754198050491e+09);
INSERT INTO "changes" VALUES(48,'cron','01a219b0-004b-72f2-9925-6805fdae6ea2','updated',1.79572729754399204255e+09);
INSERT INTO "changes" VALUES(49,'runs','01a219b0-0c05-7f13-8ced-906f5b99d66e','updated',1.79572729754600381854e+09);
INSERT INTO "changes" VALUES(50,'cron','01a219b0-004b-72f2-9925-6805fdae6ea2','updated',1.79572729755401015285e+09);
INSERT INTO "changes" VALUES(51,'runs','01a219b0-0c05-7f13-8ced-906f5b99d66e','updated',1.79572729755401015285e+09);
INSERT INTO "changes" VALUES(52,'runs','01a219b0-0ff2-734c-9628-310152c924f5','created',1.79572729854599833485e+09);
INSERT INTO "changes" VALUES(53,'cron','01a219b0-004b-72f2-9925-6805fdae6ea2','updated',1.79572729854800987236e+09);
INSERT INTO "changes" VALUES(54,'runs','01a219b0-0ff2-734c-9628-310152c924f5','updated',1.79572729855400466916e+09);
INSERT INTO "changes" VALUES(55,'cron','01a219b0-004b-72f2-9925-6805fdae6ea2','updated',1.79572729857701802254e+09);
INSERT INTO "changes" VALUES(56,'runs','01a219b0-0ff2-734c-9628-310152c924f5','updated',1.79572729857701802254e+09);
INSERT INTO "changes" VALUES(57,'cron','01a219b0-004b-72f2-9925-6805fdae6ea2','updated',1.79572729860200285909e+09);
CREATE TABLE chat_attachments (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        media_type TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        text TEXT NOT NULL,
        is_cut INTEGER NOT NULL,
        data BLOB NOT NULL,
        created_at REAL NOT NULL,
        message_id TEXT NOT NULL DEFAULT ''
    ) STRICT;
CREATE TABLE chat_conversations (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        system_prompt TEXT NOT NULL,
        model TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        seq INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
CREATE TABLE chat_events (
        conversation_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        event TEXT NOT NULL,
        data TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (conversation_id, seq)
    ) WITHOUT ROWID;
CREATE TABLE chat_messages (
        id TEXT PRIMARY KEY,
        conversation_id TEXT NOT NULL,
        place INTEGER NOT NULL,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        status TEXT NOT NULL,
        seq INTEGER NOT NULL,
        created_at REAL NOT NULL,
        finished_at REAL,
        model TEXT NOT NULL DEFAULT '',
        provider TEXT NOT NULL DEFAULT '',
        input_tokens INTEGER NOT NULL DEFAULT 0,
        output_tokens INTEGER NOT NULL DEFAULT 0,
        truncated INTEGER NOT NULL DEFAULT 0,
        error TEXT,
        attachments TEXT NOT NULL DEFAULT '[]',
        client_message_id TEXT NOT NULL DEFAULT '',
        owner TEXT NOT NULL DEFAULT '',
        beat_at REAL NOT NULL DEFAULT 0,
        stop_asked INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
CREATE TABLE cron_failing (
        job_id TEXT PRIMARY KEY,
        since REAL NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "cron_failing" VALUES('01a219af-f0b5-7148-9561-30e2dff374a3',1.79572729101390743261e+09);
CREATE TABLE cron_jobs (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        source TEXT NOT NULL,
        file TEXT NOT NULL DEFAULT '',
        definition TEXT,
        problem TEXT NOT NULL DEFAULT '',
        enabled INTEGER NOT NULL,
        auto_disabled INTEGER NOT NULL DEFAULT 0,
        paused_until REAL,
        paused_reason TEXT NOT NULL DEFAULT '',
        failures_since REAL NOT NULL,
        anchor REAL NOT NULL,
        cursor REAL NOT NULL,
        next_at REAL,
        version INTEGER NOT NULL DEFAULT 1,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        created_by TEXT NOT NULL
    , boot TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
INSERT INTO "cron_jobs" VALUES('01a219af-e560-71b6-b75b-d0558821f963','nightly','file','nightly.yaml','{"name": "nightly", "description": "", "schedule": "30 3 * * *", "timezone": "Etc/UTC", "type": "shell", "command": "echo nightly", "params": {}, "env": {}, "working_dir": "", "enabled": true, "output": null, "output_on": ["always"], "timeout_seconds": 3600, "overlap": "skip", "max_queued": 1, "max_parallel": 1, "catchup": "latest", "catchup_window_seconds": 3600, "jitter_seconds": 0, "success_exit_codes": [0], "history_limit": 200, "history_days": 30, "log_max_bytes": 1048576, "start_at": null, "end_at": null, "paused_until": null, "auto_disable_after": 0, "tags": [], "retry": {"max_attempts": 1, "delay_seconds": 60, "backoff": 2.0, "max_delay_seconds": 3600, "on_exit_codes": []}}','',1,0,NULL,'',1.79572728764810347554e+09,1.79572728764810347554e+09,1.79572728764810347554e+09,1795750200.0,1,1.79572728764810347554e+09,1.79572728764810347554e+09,'file','');
INSERT INTO "cron_jobs" VALUES('01a219af-f0b5-7148-9561-30e2dff374a3','failing','database','','{"name": "failing", "description": "", "schedule": "0 3 * * *", "timezone": "Etc/UTC", "type": "shell", "command": "echo full >&2; exit 1", "params": {}, "env": {}, "working_dir": "", "enabled": true, "output": "oncall", "output_on": ["always"], "timeout_seconds": 3600, "overlap": "skip", "max_queued": 1, "max_parallel": 1, "catchup": "latest", "catchup_window_seconds": 3600, "jitter_seconds": 0, "success_exit_codes": [0], "history_limit": 200, "history_days": 30, "log_max_bytes": 1048576, "start_at": null, "end_at": null, "paused_until": null, "auto_disable_after": 0, "tags": [], "retry": {"max_attempts": 1, "delay_seconds": 60, "backoff": 2.0, "max_delay_seconds": 3600, "on_exit_codes": []}}','',1,0,NULL,'',1.79572729054902672767e+09,1.79572729054902672767e+09,1.79572729054902672767e+09,1795748400.0,1,1.79572729054902672767e+09,1.79572729054902672767e+09,'cli','');
INSERT INTO "cron_jobs" VALUES('01a219b0-004b-72f2-9925-6805fdae6ea2','tick','database','','{"name": "tick", "description": "", "schedule": "every 1s", "timezone": "Etc/UTC", "type": "shell", "command": "echo tick", "params": {}, "env": {}, "working_dir": "", "enabled": false, "output": null, "output_on": ["always"], "timeout_seconds": 3600, "overlap": "skip", "max_queued": 1, "max_parallel": 1, "catchup": "latest", "catchup_window_seconds": 3600, "jitter_seconds": 0, "success_exit_codes": [0], "history_limit": 200, "history_days": 30, "log_max_bytes": 1048576, "start_at": null, "end_at": null, "paused_until": null, "auto_disable_after": 0, "tags": [], "retry": {"max_attempts": 1, "delay_seconds": 60, "backoff": 2.0, "max_delay_seconds": 3600, "on_exit_codes": []}}','',0,0,NULL,'',1.79572729453916478154e+09,1.79572729453916478154e+09,1.7957272985453019142e+09,NULL,2,1.79572729453916478154e+09,1.79572729453916478154e+09,'cli','');
CREATE TABLE cron_troubles (
        name TEXT PRIMARY KEY,
        detail TEXT NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    target TEXT NOT NULL,
    message TEXT NOT NULL,
    source TEXT NOT NULL,
    status TEXT NOT NULL,
    policy TEXT NOT NULL,
    parse_mode TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    next_attempt_at REAL,
    due_mono REAL NOT NULL DEFAULT 0,
    asleep INTEGER NOT NULL DEFAULT 0,
    not_before REAL,
    expires_at REAL,
    idempotency_key TEXT UNIQUE,
    parts_sent INTEGER NOT NULL DEFAULT 0,
    parts_total INTEGER NOT NULL DEFAULT 0,
    provider_id TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '',
    error_class TEXT NOT NULL DEFAULT '',
    finished_at REAL,
    duration_ms INTEGER
, extra TEXT NOT NULL DEFAULT '', dismissed INTEGER NOT NULL DEFAULT 0);
INSERT INTO "deliveries" VALUES(1,'01a219af-dcdc-77c5-a43e-4a9c0dae415a','teamchat','#ops','sent at once','cli','sent','at_most_once','',1.7957272854842760563e+09,1,0,NULL,0.0,0,NULL,NULL,NULL,1,1,'ts=1795727285.490413','','',1.79572728549127602574e+09,7,'',0);
INSERT INTO "deliveries" VALUES(2,'01a219af-ddf0-761a-855d-ff3c066a9ce1','teamchat','#nosuch','refused at once','cli','dead','at_most_once','',1.7957272857615661621e+09,1,0,NULL,0.0,0,NULL,NULL,NULL,0,1,'','channel_not_found: wrong ID or name, or a private channel without the bot as a member','permanent',1.79572728576956605912e+09,8,'',1);
INSERT INTO "deliveries" VALUES(3,'01a219af-df24-70bb-b805-54999e162224','teamchat','#ops','sent by the queue','cli','sent','at_least_once','',1.79572728605203104021e+09,1,0,NULL,0.0,0,NULL,NULL,NULL,1,1,'ts=1795727286.144379','','',1.79572728615197014807e+09,9,'',0);
INSERT INTO "deliveries" VALUES(4,'01a219af-e03c-7a71-9d17-ae995286ee3d','botchat','1001','sent to a chat','cli','sent','at_least_once','',1795727286.33264,1,0,NULL,0.0,0,NULL,NULL,NULL,1,1,'id=1','','',1.79572728641487097743e+09,5,'',0);
INSERT INTO "deliveries" VALUES(5,'01a219af-e14d-7dbc-adcb-7e8146378228','teamchat','#nosuch','dead','cli','dead','at_least_once','',1.79572728660584473607e+09,1,0,NULL,0.0,0,NULL,NULL,NULL,0,1,'','channel_not_found: wrong ID or name, or a private channel without the bot as a member','permanent',1.79572728662412738802e+09,1,'',0);
INSERT INTO "deliveries" VALUES(6,'01a219af-e159-7404-b561-f277b6daa47b','teamchat','#ops','for later','gateway','queued','at_least_once','',1.79572728661723423002e+09,0,0,NULL,0.0,1,1795813686.0,NULL,'http:later',0,0,'','','',NULL,NULL,'',0);
INSERT INTO "deliveries" VALUES(7,'01a219af-f283-782d-9e28-e42d3a760716','teamchat','#ops','❌ failing: failed after 31 ms
it ended with exit code 1
run 01a219af-f24b-7d66-aedc-3af84a344fce on vm
`tocsin runs log 01a219af-f24b-7d66-aedc-3af84a344fce` shows its output, `tocsin runs retry 01a219af-f24b-7d66-aedc-3af84a344fce` runs it again

full','cron','sent','at_least_once','plain',1.79572729101150155069e+09,1,0,NULL,0.0,0,NULL,NULL,'cron:01a219af-f24b-7d66-aedc-3af84a344fce:0:0',1,1,'ts=1795727291.154595','','',1.79572729116131091123e+09,8,'',0);
INSERT INTO "deliveries" VALUES(8,'01a219af-f371-732a-bb3c-a752ec92e884','botchat','1003','access request pending','inbox','sent','at_least_once','plain',1.79572729124915552141e+09,1,0,NULL,0.0,0,NULL,NULL,'inbox:01a219af-f31a-74b8-81a9-031ad7a92bb2:0',1,1,'id=4','','',1.79572729126926827433e+09,4,'',0);
INSERT INTO "deliveries" VALUES(9,'01a219af-f3b8-781d-9d80-cdc5e0de7c49','botchat','1001','It is always sunny in Oslo.','inbox','sent','at_least_once','plain',1.79572729132049489016e+09,1,0,NULL,0.0,0,NULL,NULL,'inbox:01a219af-f31f-73d1-94b8-6b4fcdaf897b:0',1,1,'id=5','','',1.79572729133190894129e+09,4,'',0);
INSERT INTO "deliveries" VALUES(10,'01a219af-f6be-7dc1-8f24-099ce20e70aa','teamchat','#ops','/ is 32 % full','cli','sent','at_most_once','',1.79572729209866237647e+09,1,0,NULL,0.0,0,NULL,NULL,NULL,1,1,'ts=1795727292.105026','','',1.79572729210566234582e+09,7,'',0);
CREATE TABLE delivery_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL) STRICT;
INSERT INTO "delivery_changes" VALUES(1,'01a219af-dcdc-77c5-a43e-4a9c0dae415a');
INSERT INTO "delivery_changes" VALUES(2,'01a219af-ddf0-761a-855d-ff3c066a9ce1');
INSERT INTO "delivery_changes" VALUES(3,'01a219af-df24-70bb-b805-54999e162224');
INSERT INTO "delivery_changes" VALUES(4,'01a219af-df24-70bb-b805-54999e162224');
INSERT INTO "delivery_changes" VALUES(5,'01a219af-df24-70bb-b805-54999e162224');
INSERT INTO "delivery_changes" VALUES(6,'01a219af-e03c-7a71-9d17-ae995286ee3d');
INSERT INTO "delivery_changes" VALUES(7,'01a219af-e03c-7a71-9d17-ae995286ee3d');
INSERT INTO "delivery_changes" VALUES(8,'01a219af-e03c-7a71-9d17-ae995286ee3d');
INSERT INTO "delivery_changes" VALUES(9,'01a219af-e14d-7dbc-adcb-7e8146378228');
INSERT INTO "delivery_changes" VALUES(10,'01a219af-e159-7404-b561-f277b6daa47b');
INSERT INTO "delivery_changes" VALUES(11,'01a219af-e14d-7dbc-adcb-7e8146378228');
INSERT INTO "delivery_changes" VALUES(12,'01a219af-e14d-7dbc-adcb-7e8146378228');
INSERT INTO "delivery_changes" VALUES(13,'01a219af-f283-782d-9e28-e42d3a760716');
INSERT INTO "delivery_changes" VALUES(14,'01a219af-f283-782d-9e28-e42d3a760716');
INSERT INTO "delivery_changes" VALUES(15,'01a219af-f283-782d-9e28-e42d3a760716');
INSERT INTO "delivery_changes" VALUES(16,'01a219af-f371-732a-bb3c-a752ec92e884');
INSERT INTO "delivery_changes" VALUES(17,'01a219af-f371-732a-bb3c-a752ec92e884');
INSERT INTO "delivery_changes" VALUES(18,'01a219af-f371-732a-bb3c-a752ec92e884');
INSERT INTO "delivery_changes" VALUES(19,'01a219af-f3b8-781d-9d80-cdc5e0de7c49');
INSERT INTO "delivery_changes" VALUES(20,'01a219af-f3b8-781d-9d80-cdc5e0de7c49');
INSERT INTO "delivery_changes" VALUES(21,'01a219af-f3b8-781d-9d80-cdc5e0de7c49');
INSERT INTO "delivery_changes" VALUES(22,'01a219af-f6be-7dc1-8f24-099ce20e70aa');
PRAGMA writable_schema=ON;
INSERT INTO sqlite_master(type,name,tbl_name,rootpage,sql)VALUES('table','delivery_words','delivery_words',0,'CREATE VIRTUAL TABLE delivery_words USING fts5 (
    message, target, content = ''deliveries'', content_rowid = ''seq'', columnsize = 0
)');
CREATE TABLE 'delivery_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO "delivery_words_config" VALUES('version',4);
CREATE TABLE 'delivery_words_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO "delivery_words_data" VALUES(1,X'0A470A');
INSERT INTO "delivery_words_data" VALUES(10,X'000000000103030003010101020101030101');
INSERT INTO "delivery_words_data" VALUES(137438953473,X'000000AD0530313030310406010102010161040204020174010203010203010262790302030104636861740402050104646561640502020103666F7206020201056C6174657206020301066E6F737563680206010102030601010201046F6E63650102040102040202707301060101020206010102030601010201057175657565030205010772656675736564020202010473656E74010202020202010202010374686503020402016F040203040B0609070909080A120C130A0C0F08');
INSERT INTO "delivery_words_data" VALUES(274877906945,X'000001100930303161323139616607060E0C0D01013107020C01023331070205020B61663834613334346663650706120C0D0104376436360706100C0D0104616564630706110C0D02046674657207020402046761696E07022A0104636F646507020B0105656E646564070208020378697407020A01046632346207060F0C0D020561696C65640702030503696E670702020203756C6C07022B010269740704072403017307021E01036C6F6707021701026D7307020601026F6E0702130202707307060101020205757470757407021F010572657472790702220202756E07020D0401730706160D09010573686F777307021D0106746F6373696E0704150D0102766D070214010477697468070209040F0607120B0B0909090A080B0A08080806080707090A0A07080A0C07');
INSERT INTO "delivery_words_data" VALUES(412316860417,X'0000008605303130303109060101020401330806010102010233320A0203010661636365737308020202056C77617973090204010466756C6C0A02040102696E09020602017309020301020202017409020201036F70730A060101020203736C6F090207010770656E64696E67080204010772657175657374080203010573756E6E79090205040B08070B0A090709060A080C0C');
CREATE TABLE 'delivery_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO "delivery_words_idx" VALUES(1,X'',2);
INSERT INTO "delivery_words_idx" VALUES(2,X'',2);
INSERT INTO "delivery_words_idx" VALUES(3,X'',2);
CREATE TABLE idempotency (
        key TEXT PRIMARY KEY,
        digest TEXT NOT NULL,
        status INTEGER,
        body TEXT,
        created_at REAL NOT NULL,
        lease_until REAL NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "idempotency" VALUES('
http:later','cfc7bd19989ad75fbd457500ef4a1fe0d43a7e60fd1fc553da7a451eb25fdd9e',202,'{"id":"01a219af-e159-7404-b561-f277b6daa47b","status":"queued"}',1.79572728661571836476e+09,20076.557261213);
CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    kind TEXT NOT NULL,
    urgent INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'new',
    message TEXT,
    accepted_at REAL NOT NULL,
    owner TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    ending TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    replies TEXT,
    finished_at REAL
);
INSERT INTO "inbox" VALUES(1,'01a219af-f31a-74b8-81a9-031ad7a92bb2','botchat','1003','command',1,'answered','{"channel":"botchat","kind":"command","id":"2","dedupe_keys":["update:7000000001:1","message:7000000001:1003:2:0"],"chat_id":"1003","text":"/start","thread_id":null,"chat_type":"private","chat_title":"","sender_id":"1003","sender_name":"Carl","sender_is_bot":false,"command":"start","args":"","callback_id":null,"callback_data":null,"reply_to_id":null,"mentions_bot":false,"attachments":[],"things":[],"quote":null,"forwarded_from":"","album_id":null,"sent_at":1795727290.0,"received_at":1795727291.1605651,"waited":false,"sender_username":"carl","sender_language":""}',1.79572729116085195544e+09,'',0,'','',NULL,1.7957272912511098385e+09);
INSERT INTO "inbox" VALUES(2,'01a219af-f31f-73d1-94b8-6b4fcdaf897b','botchat','1001','message',0,'answered','{"channel":"botchat","kind":"message","id":"3","dedupe_keys":["update:7000000001:2","message:7000000001:1001:3:0"],"chat_id":"1001","text":"weather Oslo","thread_id":null,"chat_type":"private","chat_title":"","sender_id":"1001","sender_name":"Alice","sender_is_bot":false,"command":null,"args":"","callback_id":null,"callback_data":null,"reply_to_id":null,"mentions_bot":false,"attachments":[],"things":[],"quote":null,"forwarded_from":"","album_id":null,"sent_at":1795727290.0,"received_at":1795727291.1607387,"waited":false,"sender_username":"alice","sender_language":""}',1.79572729116085195544e+09,'',1,'','trigger rule 2: succeeded',NULL,1.79572729132499122619e+09);
CREATE TABLE inbox_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL) STRICT;
INSERT INTO "inbox_changes" VALUES(1,'1');
INSERT INTO "inbox_changes" VALUES(2,'2');
INSERT INTO "inbox_changes" VALUES(3,'1');
INSERT INTO "inbox_changes" VALUES(4,'2');
INSERT INTO "inbox_changes" VALUES(5,'1');
INSERT INTO "inbox_changes" VALUES(6,'1');
INSERT INTO "inbox_changes" VALUES(7,'2');
INSERT INTO "inbox_changes" VALUES(8,'2');
CREATE TABLE inbox_cursors (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "inbox_cursors" VALUES('updates:7000000001@127.0.0.1:46509',3);
CREATE TABLE inbox_keys (
    channel TEXT NOT NULL,
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    claimed_at REAL NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;
INSERT INTO "inbox_keys" VALUES('botchat','message:7000000001:1001:3:0',4,1.79572729116085195544e+09);
INSERT INTO "inbox_keys" VALUES('botchat','message:7000000001:1003:2:0',2,1.79572729116085195544e+09);
INSERT INTO "inbox_keys" VALUES('botchat','update:7000000001:1',1,1.79572729116085195544e+09);
INSERT INTO "inbox_keys" VALUES('botchat','update:7000000001:2',3,1.79572729116085195544e+09);
CREATE TABLE lanes (
    channel TEXT NOT NULL,
    target TEXT NOT NULL,
    due_mono REAL NOT NULL,
    worker TEXT NOT NULL DEFAULT '',
    lease_until REAL NOT NULL DEFAULT 0,
    sending INTEGER,
    recognises_repeats INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel, target)
) WITHOUT ROWID;
CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        token INTEGER NOT NULL,
        beat INTEGER NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "leases" VALUES('scheduler','',1,5);
INSERT INTO "leases" VALUES('watchers','',1,4);
CREATE TABLE memory_decays (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        decayed_at REAL NOT NULL,
        removed INTEGER NOT NULL
    );
INSERT INTO "memory_decays" VALUES(1,1.79572728513963675496e+09,0);
CREATE TABLE memory_entries (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL,
        type TEXT NOT NULL,
        scope TEXT NOT NULL,
        source TEXT NOT NULL,
        importance REAL NOT NULL,
        pinned INTEGER NOT NULL,
        half_life_days REAL,
        access_count INTEGER NOT NULL,
        last_accessed_at REAL NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        expires_at REAL,
        removed_at REAL,
        unspaced INTEGER NOT NULL,
        tags TEXT NOT NULL,
        value TEXT NOT NULL
    );
INSERT INTO "memory_entries" VALUES(1,'office.wifi','fact','global','cli',0.5,1,30.0,0,1.79572728690314960481e+09,1.79572728690314960481e+09,1.79572728690314960481e+09,NULL,NULL,0,'["office"]','The guest network is called Lighthouse');
INSERT INTO "memory_entries" VALUES(2,'plan','note','global','cli',0.5,0,30.0,0,1.79572728718785524365e+09,1.79572728718785524365e+09,1.79572728718785524365e+09,NULL,1.79572728748109817498e+09,0,'[]','first');
INSERT INTO "memory_entries" VALUES(3,'plan','note','global','cli',0.5,0,30.0,0,1.79572728748109817498e+09,1.79572728718785524365e+09,1.79572728748109817498e+09,NULL,NULL,0,'[]','second');
INSERT INTO "memory_entries" VALUES(4,'gone','fact','global','cli',0.5,0,30.0,0,1.79572728778604817395e+09,1.79572728778604817395e+09,1.79572728778604817395e+09,NULL,1.79572728808380413056e+09,0,'[]','restorable');
INSERT INTO sqlite_master(type,name,tbl_name,rootpage,sql)VALUES('table','memory_pieces','memory_pieces',0,'CREATE VIRTUAL TABLE memory_pieces USING fts5(
        key, value, tags, content=''memory_entries'', content_rowid=''id'', tokenize=''trigram''
    )');
CREATE TABLE 'memory_pieces_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO "memory_pieces_config" VALUES('version',4);
CREATE TABLE 'memory_pieces_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO "memory_pieces_data" VALUES(1,X'');
INSERT INTO "memory_pieces_data" VALUES(10,X'00000000000000');
CREATE TABLE 'memory_pieces_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
CREATE TABLE 'memory_pieces_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO sqlite_master(type,name,tbl_name,rootpage,sql)VALUES('table','memory_words','memory_words',0,'CREATE VIRTUAL TABLE memory_words USING fts5(
        key, value, tags, content=''memory_entries'', content_rowid=''id'', tokenize=''unicode61 remove_diacritics 2''
    )');
CREATE TABLE 'memory_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO "memory_words_config" VALUES('version',4);
CREATE TABLE 'memory_words_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO "memory_words_data" VALUES(1,X'04050901');
INSERT INTO "memory_words_data" VALUES(10,X'000000000104040004010101020101030101040101');
INSERT INTO "memory_words_data" VALUES(137438953473,X'00000066073063616C6C65640106010106010567756573740106010103010269730106010105010A6C69676874686F757365010601010701076E6574776F726B010601010401066F666669636501080201020201037468650106010102010477696669010203040D0C09110E0E0A');
INSERT INTO "memory_words_data" VALUES(274877906945,X'000000190630666972737402060101020104706C616E020202040C');
INSERT INTO "memory_words_data" VALUES(412316860417,X'0000001A0530706C616E03020201067365636F6E6403060101020409');
INSERT INTO "memory_words_data" VALUES(549755813889,X'0000001E0530676F6E65040202010A726573746F7261626C6504060101020409');
CREATE TABLE 'memory_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO "memory_words_docsize" VALUES(1,X'020601');
INSERT INTO "memory_words_docsize" VALUES(2,X'010100');
INSERT INTO "memory_words_docsize" VALUES(3,X'010100');
INSERT INTO "memory_words_docsize" VALUES(4,X'010100');
CREATE TABLE 'memory_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO "memory_words_idx" VALUES(1,X'',2);
INSERT INTO "memory_words_idx" VALUES(2,X'',2);
INSERT INTO "memory_words_idx" VALUES(3,X'',2);
INSERT INTO "memory_words_idx" VALUES(4,X'',2);
CREATE TABLE migrations (component TEXT PRIMARY KEY, version INTEGER NOT NULL);
INSERT INTO "migrations" VALUES('changes',1);
INSERT INTO "migrations" VALUES('delivery',5);
INSERT INTO "migrations" VALUES('idempotency',1);
INSERT INTO "migrations" VALUES('inbox',4);
INSERT INTO "migrations" VALUES('presence',1);
INSERT INTO "migrations" VALUES('runs',9);
INSERT INTO "migrations" VALUES('scheduling',1);
INSERT INTO "migrations" VALUES('web_access',1);
INSERT INTO "migrations" VALUES('access',3);
INSERT INTO "migrations" VALUES('bot',3);
INSERT INTO "migrations" VALUES('chat_work',3);
INSERT INTO "migrations" VALUES('intake',2);
INSERT INTO "migrations" VALUES('assistant_skills',3);
INSERT INTO "migrations" VALUES('browser',1);
INSERT INTO "migrations" VALUES('chat',2);
INSERT INTO "migrations" VALUES('cron',7);
INSERT INTO "migrations" VALUES('jobs',3);
INSERT INTO "migrations" VALUES('memory',2);
INSERT INTO "migrations" VALUES('notifications',3);
INSERT INTO "migrations" VALUES('ssh',1);
INSERT INTO "migrations" VALUES('vault',2);
INSERT INTO "migrations" VALUES('watchers',5);
CREATE TABLE notifications (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL,
        body TEXT NOT NULL,
        level TEXT NOT NULL,
        category TEXT NOT NULL,
        source TEXT NOT NULL,
        link TEXT NOT NULL,
        dedupe_key TEXT NOT NULL,
        created_at REAL NOT NULL,
        last_at REAL NOT NULL,
        read_at REAL,
        count INTEGER NOT NULL DEFAULT 1,
        due INTEGER NOT NULL,
        told INTEGER NOT NULL DEFAULT 0,
        told_at REAL,
        told_count INTEGER NOT NULL DEFAULT 0
    , run_id TEXT NOT NULL DEFAULT '', step TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "notifications" VALUES(1,'01a219af-e2fe-7c68-9530-553b2d8e0216','A message on Slack was not delivered','Delivery 01a219af-e14d-7dbc-adcb-7e8146378228 to #nosuch is dead after 1 try.

`tocsin deliveries show 01a219af-e14d-7dbc-adcb-7e8146378228` shows the reason.','error','messaging','queue','#/deliveries?status=dead','undelivered:teamchat:#nosuch',1.79572728703834986682e+09,1.79572728703834986682e+09,NULL,1,0,2,NULL,0,'','');
INSERT INTO "notifications" VALUES(2,'01a219af-f2cd-749f-8031-5056c65b001f','Job failing is failing','it ended with exit code 1

run 01a219af-f24b-7d66-aedc-3af84a344fce on vm
`tocsin runs log 01a219af-f24b-7d66-aedc-3af84a344fce` shows its output, `tocsin runs retry 01a219af-f24b-7d66-aedc-3af84a344fce` runs it again','error','cron','failing','#/cron/01a219af-f0b5-7148-9561-30e2dff374a3','cron-failing:498813:01a219af-f0b5-7148-9561-30e2dff374a3',1.79572729108499741556e+09,1.79572729108499741556e+09,NULL,1,0,2,NULL,0,'','');
INSERT INTO "notifications" VALUES(3,'01a219af-f9be-7a6c-bf51-f21400427eac','release waits for approval','Publish 1.4.0?

`tocsin runs approve 01a219af-f8df-76d4-9212-3380b1b09363 --step ask`
`tocsin runs reject 01a219af-f8df-76d4-9212-3380b1b09363 --step ask`','warning','workflow','workflow release','#/runs/01a219af-f8df-76d4-9212-3380b1b09363','approval:01a219af-f8df-76d4-9212-3380b1b09363:ask',1.79572729286229896541e+09,1.79572729286229896541e+09,NULL,1,0,2,NULL,0,'01a219af-f8df-76d4-9212-3380b1b09363','ask');
INSERT INTO "notifications" VALUES(4,'01a219af-fa73-7c9b-9a34-c0a811a534d5','Chat 1003 asks for access to the bot','Approve it with `tocsin bot access approve 1003`.','info','security','bot','#/access','access:1003',1.79572729304350972179e+09,1.79572729304350972179e+09,NULL,1,0,0,NULL,0,'','');
CREATE TABLE notifications_forwarder (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        holder TEXT NOT NULL,
        until REAL NOT NULL
    ) STRICT;
INSERT INTO "notifications_forwarder" VALUES(1,'01a219af-d9e4-7135-8b07-926c57815aec',1.79572732304786229131e+09);
CREATE TABLE notifications_sent (at REAL NOT NULL, digest INTEGER NOT NULL) STRICT;
CREATE TABLE pace (
    key TEXT PRIMARY KEY,
    tat REAL NOT NULL DEFAULT 0,
    blocked_until REAL NOT NULL DEFAULT 0,
    blocked_until_wall REAL NOT NULL DEFAULT 0
, reason TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
INSERT INTO "pace" VALUES('account|botchat',2.00713028434182961059e+04,0.0,0.0,'');
INSERT INTO "pace" VALUES('target|botchat|1001',2.00723203872779449728e+04,0.0,0.0,'');
INSERT INTO "pace" VALUES('target|botchat|1003',2.00722571334829481197e+04,0.0,0.0,'');
INSERT INTO "pace" VALUES('target|teamchat|#nosuch',2.00676149250619455417e+04,0.0,0.0,'');
INSERT INTO "pace" VALUES('target|teamchat|#ops',2.00721396572239464141e+04,0.0,0.0,'');
CREATE TABLE processes (identity TEXT PRIMARY KEY, beat INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "processes" VALUES('1164:2007236:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm',3);
CREATE TABLE run_notes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id TEXT NOT NULL UNIQUE,
        noted TEXT NOT NULL
    );
INSERT INTO "run_notes" VALUES(1,'01a219af-f24b-7d66-aedc-3af84a344fce','{"notice": {"title": "Job failing is failing", "body": "it ended with exit code 1\n\nrun 01a219af-f24b-7d66-aedc-3af84a344fce on vm\n`tocsin runs log 01a219af-f24b-7d66-aedc-3af84a344fce` shows its output, `tocsin runs retry 01a219af-f24b-7d66-aedc-3af84a344fce` runs it again", "level": "error", "category": "cron", "source": "failing", "link": "#/cron/01a219af-f0b5-7148-9561-30e2dff374a3", "dedupe_key": "cron-failing:498813:01a219af-f0b5-7148-9561-30e2dff374a3", "run_id": "", "step": "", "output": "oncall", "once": false, "closed": false}, "ended": true}');
INSERT INTO "run_notes" VALUES(2,'01a219af-fac6-7f9d-85b5-9cf69bf158fc','{}');
INSERT INTO "run_notes" VALUES(3,'01a219b0-0437-7e4a-94bd-0c6f49676b5f','{}');
INSERT INTO "run_notes" VALUES(4,'01a219b0-0820-7008-bc34-b5600bdb44f7','{}');
INSERT INTO "run_notes" VALUES(5,'01a219b0-0c05-7f13-8ced-906f5b99d66e','{}');
INSERT INTO "run_notes" VALUES(6,'01a219b0-0ff2-734c-9628-310152c924f5','{}');
CREATE TABLE run_parts (
        run_id TEXT NOT NULL,
        part TEXT NOT NULL,
        name TEXT NOT NULL,
        position INTEGER NOT NULL,
        record TEXT NOT NULL,
        PRIMARY KEY (run_id, part, name)
    );
INSERT INTO "run_parts" VALUES('01a219af-f67f-75b7-9f55-4577b5e82b21','step','look',0,'{"name": "look", "type": "shell", "status": "succeeded", "attempt": 1, "started_at": 1795727292.0419943, "finished_at": 1795727292.0918338, "exit_code": 0, "when": null, "error": null, "outputs": {"used": "32"}, "message": null}');
INSERT INTO "run_parts" VALUES('01a219af-f67f-75b7-9f55-4577b5e82b21','step','tell',1,'{"name": "tell", "type": "notify", "status": "succeeded", "attempt": 1, "started_at": 1795727292.0936437, "finished_at": 1795727292.108948, "exit_code": null, "when": null, "error": null, "outputs": {"sent": 1, "failed": 0}, "message": null}');
INSERT INTO "run_parts" VALUES('01a219af-f8df-76d4-9212-3380b1b09363','step','build',0,'{"name": "build", "type": "shell", "status": "succeeded", "attempt": 1, "started_at": 1795727292.65826, "finished_at": 1795727292.7008927, "exit_code": 0, "when": null, "error": null, "outputs": {}, "message": null}');
INSERT INTO "run_parts" VALUES('01a219af-f8df-76d4-9212-3380b1b09363','step','ask',1,'{"name": "ask", "type": "wait", "status": "waiting", "attempt": 1, "started_at": 1795727292.7187932, "finished_at": null, "exit_code": null, "when": null, "error": null, "outputs": {}, "message": "Publish 1.4.0?"}');
INSERT INTO "run_parts" VALUES('01a219af-f8df-76d4-9212-3380b1b09363','step','publish',2,'{"name": "publish", "type": "shell", "status": "queued", "attempt": 1, "started_at": null, "finished_at": null, "exit_code": null, "when": null, "error": null, "outputs": {}, "message": null}');
CREATE TABLE run_tasks (
        run_id TEXT PRIMARY KEY,
        request TEXT NOT NULL DEFAULT '{}',
        caller TEXT NOT NULL DEFAULT '{}',
        not_before REAL,
        noted TEXT,
        noted_at REAL
    ) WITHOUT ROWID;
INSERT INTO "run_tasks" VALUES('01a219af-f8df-76d4-9212-3380b1b09363','{"params": {"version": "1.4.0"}, "env": {}, "only": [], "from_step": "", "ancestry": [], "notify_profile": "oncall", "notify_on": ["always"], "asked": {"ask:1": true}}','{}',NULL,NULL,NULL);
CREATE TABLE run_waits (
        run_id TEXT NOT NULL,
        step TEXT NOT NULL,
        message TEXT NOT NULL,
        approvers TEXT NOT NULL,
        since REAL NOT NULL,
        approved INTEGER,
        decided_by TEXT,
        decided_at REAL,
        comment TEXT NOT NULL DEFAULT '', question TEXT NOT NULL DEFAULT '', asked_in TEXT NOT NULL DEFAULT '[]', not_by_starter INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (run_id, step)
    ) WITHOUT ROWID;
INSERT INTO "run_waits" VALUES('01a219af-f8df-76d4-9212-3380b1b09363','ask','Publish 1.4.0?','[]',1.79572729283817863468e+09,NULL,NULL,NULL,'','2c392931fb59ab62a767de319ebd0665','[]',0);
CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        subject_id TEXT NOT NULL,
        subject_name TEXT NOT NULL,
        triggered_by TEXT NOT NULL,
        status TEXT NOT NULL,
        queued_at REAL NOT NULL,
        actor TEXT,
        reason TEXT,
        attempt INTEGER NOT NULL,
        max_attempts INTEGER NOT NULL,
        retry_of TEXT,
        parent_run_id TEXT,
        scheduled_for REAL,
        started_at REAL,
        finished_at REAL,
        exit_code INTEGER,
        signal TEXT,
        dry_run INTEGER NOT NULL,
        params TEXT NOT NULL,
        env_keys TEXT NOT NULL,
        output_bytes INTEGER NOT NULL DEFAULT 0,
        output_lines INTEGER NOT NULL DEFAULT 0,
        output_truncated INTEGER NOT NULL DEFAULT 0,
        output_tail TEXT NOT NULL DEFAULT '',
        error TEXT,
        owner TEXT NOT NULL,
        child TEXT NOT NULL DEFAULT '',
        cancel_reason TEXT NOT NULL DEFAULT '',
        cancel_grace_s REAL NOT NULL DEFAULT 0
    , snapshot TEXT, history_limit INTEGER, history_days REAL, delivery_status TEXT NOT NULL DEFAULT 'none', delivery_results TEXT NOT NULL DEFAULT '[]', delivery_queued TEXT NOT NULL DEFAULT '[]', source TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
INSERT INTO "runs" VALUES('01a219af-f24b-7d66-aedc-3af84a344fce','cron','01a219af-f0b5-7148-9561-30e2dff374a3','failing','manual','failed',1.79572729095583367344e+09,NULL,'it ended with exit code 1',1,1,NULL,NULL,NULL,1.79572729095583367344e+09,1.7957272909870228767e+09,1,NULL,0,'{}','[]',5,1,0,'full','{"code": "exit-code", "message": "it ended with exit code 1"}','1123:2007050:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','1131:2007090:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','',0.0,'{"name": "failing", "description": "", "schedule": "0 3 * * *", "timezone": "Etc/UTC", "type": "shell", "command": "echo full >&2; exit 1", "params": {}, "env": {}, "working_dir": "", "enabled": true, "output": "oncall", "output_on": ["always"], "timeout_seconds": 3600, "overlap": "skip", "max_queued": 1, "max_parallel": 1, "catchup": "latest", "catchup_window_seconds": 3600, "jitter_seconds": 0, "success_exit_codes": [0], "history_limit": 200, "history_days": 30, "log_max_bytes": 1048576, "start_at": null, "end_at": null, "paused_until": null, "auto_disable_after": 0, "tags": [], "retry": {"max_attempts": 1, "delay_seconds": 60, "backoff": 2.0, "max_delay_seconds": 3600, "on_exit_codes": []}}',200,30.0,'delivered','[{"ok": true, "channel": "teamchat", "target": "#ops", "message": "delivery=01a219af-f283-782d-9e28-e42d3a760716", "error": "", "delivery_id": "01a219af-f283-782d-9e28-e42d3a760716"}]','[]','cli');
INSERT INTO "runs" VALUES('01a219af-f33e-7aad-ba7f-754f6aeaa344','trigger','2-d7c056a8','^/?weather (\w+)','bot','succeeded',1.79572729119866323472e+09,'chat:1001',NULL,1,1,NULL,NULL,NULL,1.79572729119866323472e+09,1.79572729129561781884e+09,0,NULL,0,'{"rule": 2, "action": "shell", "channel": "botchat", "event": "01a219af-f31f-73d1-94b8-6b4fcdaf897b", "repeat": true}','["TRIGGER_ATTEMPT", "TRIGGER_CHANNEL", "TRIGGER_CHAT", "TRIGGER_ID", "TRIGGER_MESSAGE", "TRIGGER_SENDER"]',28,1,0,'It is always sunny in Oslo.',NULL,'979:2006324:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','1137:2007122:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','',0.0,NULL,NULL,NULL,'none','[]','[]','triggers');
INSERT INTO "runs" VALUES('01a219af-f47a-765f-a8a5-fd1c5e963eb1','skill','greet','greet','manual','succeeded',1.79572729151439404492e+09,NULL,NULL,1,1,NULL,NULL,NULL,1.79572729151439404492e+09,1.79572729160306167597e+09,0,NULL,0,'{"mode": "standard", "args": ["Alice"], "sha256": "a18e84ba11be2ea0c05e84e340d5997a2305a74188074057452065c8621ab7a9"}','[]',14,1,0,'Hello, Alice!',NULL,'1135:2007104:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','1143:2007151:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','',0.0,'{"mode": "standard", "args": ["Alice"], "input": "", "timeout_s": null}',NULL,NULL,'none','[]','[]','cli');
INSERT INTO "runs" VALUES('01a219af-f67f-75b7-9f55-4577b5e82b21','workflow','disk-report','disk-report','manual','succeeded',1.79572729203135418888e+09,NULL,NULL,1,1,NULL,NULL,NULL,1.79572729203135418888e+09,1.79572729211079072956e+09,NULL,NULL,0,'{"folder": "/"}','[]',112,2,0,'/dev/vda         264212084 33437908  72953004      32% /var/cache/apt/archives
Slack #ops: ts=1795727292.105026',NULL,'1147:2007156:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','1152:2007198:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','',0.0,'{"sha256": "f44ab9e6ec59d4771800c3eefc96e36d034074e83e6a814593238824afdfd1c3", "yaml": "name: disk-report\ndescription: Check how full the disk is, and notify the profile.\nsteps:\n  - name: look\n    command: df -P \"$PARAM_FOLDER\" | tail -n 1\n    outputs: {used: \"stdout | regex:''([0-9]+)%''\"}\n  - name: tell\n    type: notify\n    profile: oncall\n    command: \"${params.folder} is ${steps.look.outputs.used} % full\"\nparams:\n  folder: {default: /}\n"}',NULL,NULL,'none','[]','[]','cli');
INSERT INTO "runs" VALUES('01a219af-f8df-76d4-9212-3380b1b09363','workflow','release','release','manual','waiting',1.79572729263941597939e+09,NULL,NULL,1,1,NULL,NULL,NULL,1.79572729263941597939e+09,NULL,NULL,NULL,0,'{"version": "1.4.0"}','[]',0,0,0,'',NULL,'1164:2007236:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','1169:2007260:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','',0.0,'{"sha256": "4d321955a6057f636f42d7fedb251b183496ed3962e3cd4fab6d15bd7d9e3740", "yaml": "name: release\ndescription: Build, ask whether to publish, and tell the profile.\nnotify_profile: oncall\nsteps:\n  - name: build\n    command: echo \"built $PARAM_VERSION\"\n  - name: ask\n    type: wait\n    approval: true\n    message: \"Publish ${params.version}?\"\n    timeout: 12h\n  - name: publish\n    command: echo \"published $PARAM_VERSION\"\nparams:\n  version: {default: \"1.4.0\"}\n"}',NULL,NULL,'none','[]','[]','cli');
INSERT INTO "runs" VALUES('01a219af-fac6-7f9d-85b5-9cf69bf158fc','watcher','inbox','inbox','manual','succeeded',1.79572729312697243692e+09,NULL,NULL,1,1,NULL,NULL,NULL,1.79572729312697243692e+09,1795727293.18365,0,NULL,0,'{"event": "modified", "path": "/srv/anna/.local/share/tocsin/inbox/letter"}','["RUN_ID", "WATCH_EVENT", "WATCH_NAME", "WATCH_PATH"]',2,1,0,'9',NULL,'1168:2007259:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','1216:2007308:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','',0.0,'{"name": "inbox", "path": "/srv/anna/.local/share/tocsin/inbox", "command": "wc -c < \"$1\"", "action": "shell", "recursive": true, "patterns": [], "exclude_patterns": [], "events": ["created", "modified", "moved"], "debounce_ms": 500, "cooldown_seconds": 0, "enabled": true, "output": null}',NULL,NULL,'none','[]','[]','cli');
INSERT INTO "runs" VALUES('01a219b0-0437-7e4a-94bd-0c6f49676b5f','cron','01a219b0-004b-72f2-9925-6805fdae6ea2','tick','schedule','succeeded',1.79572729554401946073e+09,'scheduler',NULL,1,1,NULL,NULL,1.79572729553916478157e+09,1.79572729555294847494e+09,1.79572729557658720012e+09,0,NULL,0,'{}','[]',5,1,0,'tick',NULL,'979:2006324:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','1340:2007550:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','',0.0,'{"name": "tick", "description": "", "schedule": "every 1s", "timezone": "Etc/UTC", "type": "shell", "command": "echo tick", "params": {}, "env": {}, "working_dir": "", "enabled": true, "output": null, "output_on": ["always"], "timeout_seconds": 3600, "overlap": "skip", "max_queued": 1, "max_parallel": 1, "catchup": "latest", "catchup_window_seconds": 3600, "jitter_seconds": 0, "success_exit_codes": [0], "history_limit": 200, "history_days": 30, "log_max_bytes": 1048576, "start_at": null, "end_at": null, "paused_until": null, "auto_disable_after": 0, "tags": [], "retry": {"max_attempts": 1, "delay_seconds": 60, "backoff": 2.0, "max_delay_seconds": 3600, "on_exit_codes": []}}',200,30.0,'none','[]','[]','');
INSERT INTO "runs" VALUES('01a219b0-0820-7008-bc34-b5600bdb44f7','cron','01a219b0-004b-72f2-9925-6805fdae6ea2','tick','schedule','succeeded',1.79572729654413843153e+09,'scheduler',NULL,1,1,NULL,NULL,1.79572729653916478157e+09,1.7957272965522236824e+09,1.79572729657516956328e+09,0,NULL,0,'{}','[]',5,1,0,'tick',NULL,'979:2006324:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','1358:2007650:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','',0.0,'{"name": "tick", "description": "", "schedule": "every 1s", "timezone": "Etc/UTC", "type": "shell", "command": "echo tick", "params": {}, "env": {}, "working_dir": "", "enabled": true, "output": null, "output_on": ["always"], "timeout_seconds": 3600, "overlap": "skip", "max_queued": 1, "max_parallel": 1, "catchup": "latest", "catchup_window_seconds": 3600, "jitter_seconds": 0, "success_exit_codes": [0], "history_limit": 200, "history_days": 30, "log_max_bytes": 1048576, "start_at": null, "end_at": null, "paused_until": null, "auto_disable_after": 0, "tags": [], "retry": {"max_attempts": 1, "delay_seconds": 60, "backoff": 2.0, "max_delay_seconds": 3600, "on_exit_codes": []}}',200,30.0,'none','[]','[]','');
INSERT INTO "runs" VALUES('01a219b0-0c05-7f13-8ced-906f5b99d66e','cron','01a219b0-004b-72f2-9925-6805fdae6ea2','tick','schedule','succeeded',1.79572729754204773902e+09,'scheduler',NULL,1,1,NULL,NULL,1.79572729753916478156e+09,1.7957272975457274914e+09,1.79572729755402255057e+09,0,NULL,0,'{}','[]',5,1,0,'tick',NULL,'979:2006324:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','1371:2007749:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','',0.0,'{"name": "tick", "description": "", "schedule": "every 1s", "timezone": "Etc/UTC", "type": "shell", "command": "echo tick", "params": {}, "env": {}, "working_dir": "", "enabled": true, "output": null, "output_on": ["always"], "timeout_seconds": 3600, "overlap": "skip", "max_queued": 1, "max_parallel": 1, "catchup": "latest", "catchup_window_seconds": 3600, "jitter_seconds": 0, "success_exit_codes": [0], "history_limit": 200, "history_days": 30, "log_max_bytes": 1048576, "start_at": null, "end_at": null, "paused_until": null, "auto_disable_after": 0, "tags": [], "retry": {"max_attempts": 1, "delay_seconds": 60, "backoff": 2.0, "max_delay_seconds": 3600, "on_exit_codes": []}}',200,30.0,'none','[]','[]','');
INSERT INTO "runs" VALUES('01a219b0-0ff2-734c-9628-310152c924f5','cron','01a219b0-004b-72f2-9925-6805fdae6ea2','tick','schedule','succeeded',1.79572729854632472988e+09,'scheduler',NULL,1,1,NULL,NULL,1.7957272985391647816e+09,1.79572729855098152159e+09,1.79572729857713747026e+09,0,NULL,0,'{}','[]',5,1,0,'tick',NULL,'979:2006324:[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','1397::[4026531836]:04bae146-4d6e-4747-bcb7-2909d75c203f:vm','',0.0,'{"name": "tick", "description": "", "schedule": "every 1s", "timezone": "Etc/UTC", "type": "shell", "command": "echo tick", "params": {}, "env": {}, "working_dir": "", "enabled": true, "output": null, "output_on": ["always"], "timeout_seconds": 3600, "overlap": "skip", "max_queued": 1, "max_parallel": 1, "catchup": "latest", "catchup_window_seconds": 3600, "jitter_seconds": 0, "success_exit_codes": [0], "history_limit": 200, "history_days": 30, "log_max_bytes": 1048576, "start_at": null, "end_at": null, "paused_until": null, "auto_disable_after": 0, "tags": [], "retry": {"max_attempts": 1, "delay_seconds": 60, "backoff": 2.0, "max_delay_seconds": 3600, "on_exit_codes": []}}',200,30.0,'none','[]','[]','');
CREATE TABLE ssh_probes (
        host TEXT PRIMARY KEY,
        status TEXT NOT NULL,
        failures INTEGER NOT NULL,
        checked_at REAL NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
CREATE TABLE task_jobs (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        description TEXT NOT NULL,
        status TEXT NOT NULL,
        priority TEXT NOT NULL,
        labels TEXT NOT NULL,
        command TEXT NOT NULL,
        skill TEXT NOT NULL,
        repo TEXT,
        base_branch TEXT,
        base_sha TEXT,
        branch TEXT,
        worktree_path TEXT,
        head_sha TEXT,
        ahead INTEGER,
        behind INTEGER,
        diffstat TEXT,
        progress REAL,
        run_id TEXT,
        result TEXT,
        error TEXT,
        created_at REAL NOT NULL,
        started_at REAL,
        completed_at REAL,
        updated_at REAL NOT NULL,
        created_by TEXT,
        version INTEGER NOT NULL,
        phase TEXT NOT NULL,
        phase_owner TEXT NOT NULL,
        phase_at REAL NOT NULL,
        delete_branch INTEGER NOT NULL
    ) STRICT;
INSERT INTO "task_jobs" VALUES('01a219af-fcc2-7e9f-a9ec-60c153ec4e54','Write the report','By Friday','queued','normal','["office"]','','',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79572729363491129881e+09,NULL,NULL,1.79572729363491129881e+09,'cli',1,'ready','',0.0,0);
CREATE TABLE vault_notices (day TEXT PRIMARY KEY, claimed_until REAL) WITHOUT ROWID;
CREATE TABLE watcher_events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        rule TEXT NOT NULL,
        at REAL NOT NULL,
        changed_at REAL NOT NULL,
        due_at REAL,
        type TEXT NOT NULL,
        path BLOB NOT NULL,
        old_path BLOB,
        run_id TEXT,
        note TEXT NOT NULL DEFAULT ''
    );
INSERT INTO "watcher_events" VALUES(1,'inbox',1.79572729313542413711e+09,1.79572729313542413711e+09,NULL,'modified',X'2F7372762F616E6E612F2E6C6F63616C2F73686172652F746F6373696E2F696E626F782F6C6574746572',NULL,'01a219af-fac6-7f9d-85b5-9cf69bf158fc','');
CREATE TABLE watcher_failing (
        rule TEXT NOT NULL,
        path TEXT NOT NULL,
        run_id TEXT NOT NULL,
        PRIMARY KEY (rule, path)
    ) WITHOUT ROWID;
CREATE TABLE watcher_states (
        rule TEXT PRIMARY KEY,
        backend TEXT NOT NULL DEFAULT '',
        is_watching INTEGER NOT NULL DEFAULT 0,
        error TEXT NOT NULL DEFAULT '',
        acted_at REAL
    , told TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
INSERT INTO "watcher_states" VALUES('','',0,'',NULL,'');
INSERT INTO "watcher_states" VALUES('inbox','',0,'',1.79572729313542413711e+09,'');
CREATE TABLE watcher_switches (
        rule TEXT PRIMARY KEY,
        enabled INTEGER NOT NULL,
        written INTEGER NOT NULL,
        changed_at REAL NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE watcher_taken (
        run_id TEXT PRIMARY KEY,
        event INTEGER NOT NULL,
        due_at REAL NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE words_indexed (up_to INTEGER NOT NULL);
INSERT INTO "words_indexed" VALUES(10);
CREATE TRIGGER changes_tidy AFTER INSERT ON changes WHEN new.seq % 100 = 0 BEGIN
        DELETE FROM changes
        WHERE seq IN (SELECT seq FROM changes WHERE seq <= new.seq - 1000 ORDER BY seq LIMIT 500)
            AND (at < new.at - 300 OR at > new.at + 300 OR seq <= new.seq - 100000);
    END;
CREATE INDEX deliveries_lane ON deliveries (channel, target, seq)
    WHERE asleep = 0 AND status IN ('queued', 'sending', 'retry_wait');
CREATE INDEX deliveries_asleep ON deliveries (not_before) WHERE asleep = 1;
CREATE INDEX deliveries_mortal ON deliveries (expires_at)
    WHERE expires_at IS NOT NULL AND status IN ('queued', 'retry_wait');
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX deliveries_status ON deliveries (status, seq, channel);
CREATE INDEX deliveries_channel ON deliveries (channel, seq);
CREATE INDEX deliveries_target ON deliveries (target, seq, channel);
CREATE INDEX deliveries_created ON deliveries (created_at);
CREATE INDEX lanes_due ON lanes (channel, due_mono) WHERE worker = '';
CREATE INDEX lanes_leased ON lanes (lease_until) WHERE worker <> '';
CREATE INDEX pace_full ON pace (max(tat, blocked_until));
CREATE TRIGGER delivery_words_delete AFTER DELETE ON deliveries
WHEN old.seq <= (SELECT up_to FROM words_indexed WHERE rowid = 1) BEGIN
    INSERT INTO delivery_words (delivery_words, rowid, message, target)
    VALUES ('delete', old.seq, old.message, old.target);
END;
CREATE TRIGGER delivery_changes_created AFTER INSERT ON deliveries BEGIN
        INSERT INTO delivery_changes (subject) VALUES (new.id);
    END;
CREATE TRIGGER delivery_changes_updated AFTER UPDATE OF status ON deliveries WHEN new.status <> old.status BEGIN
        INSERT INTO delivery_changes (subject) VALUES (new.id);
    END;
CREATE TRIGGER delivery_changes_tidy AFTER INSERT ON delivery_changes WHEN new.seq % 500 = 0 BEGIN
        DELETE FROM delivery_changes WHERE seq <= new.seq - 5000;
    END;
CREATE INDEX idempotency_created ON idempotency (created_at);
CREATE INDEX inbox_open ON inbox (owner, seq) WHERE finished_at IS NULL;
CREATE INDEX inbox_status ON inbox (status, seq);
CREATE INDEX inbox_bodies ON inbox (finished_at) WHERE finished_at IS NOT NULL AND message IS NOT NULL;
CREATE UNIQUE INDEX inbox_keys_number ON inbox_keys (channel, number);
CREATE INDEX inbox_keys_age ON inbox_keys (claimed_at);
CREATE INDEX inbox_chats ON inbox (channel, chat, seq) WHERE finished_at IS NULL AND NOT urgent;
CREATE TRIGGER inbox_changes_created AFTER INSERT ON inbox BEGIN
        INSERT INTO inbox_changes (subject) VALUES (new.seq);
    END;
CREATE TRIGGER inbox_changes_updated AFTER UPDATE OF status ON inbox WHEN new.status <> old.status BEGIN
        INSERT INTO inbox_changes (subject) VALUES (new.seq);
    END;
CREATE TRIGGER inbox_changes_tidy AFTER INSERT ON inbox_changes WHEN new.seq % 500 = 0 BEGIN
        DELETE FROM inbox_changes WHERE seq <= new.seq - 5000;
    END;
CREATE INDEX runs_subject ON runs (kind, subject_id, id);
CREATE INDEX runs_status ON runs (status, id);
CREATE UNIQUE INDEX runs_instant ON runs (kind, subject_id, scheduled_for)
        WHERE scheduled_for IS NOT NULL AND retry_of IS NULL AND triggered_by IN ('schedule', 'catchup');
CREATE INDEX runs_undelivered ON runs (id) WHERE delivery_status = 'pending';
CREATE INDEX runs_retries ON runs (retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX runs_children ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE TRIGGER changes_of_runs_created AFTER INSERT ON runs BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('runs', new.id, 'created'); END;
CREATE TRIGGER changes_of_runs_updated AFTER UPDATE OF status, delivery_status ON runs BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('runs', new.id, 'updated'); END;
CREATE TRIGGER changes_of_runs_deleted AFTER DELETE ON runs BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('runs', old.id, 'deleted'); END;
CREATE TRIGGER changes_of_run_parts_insert AFTER INSERT ON run_parts BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('runs', new.run_id, 'updated'); END;
CREATE TRIGGER changes_of_run_parts_update AFTER UPDATE ON run_parts BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('runs', new.run_id, 'updated'); END;
CREATE INDEX runs_kind ON runs (kind, id);
CREATE INDEX runs_ended ON runs (status, queued_at);
CREATE INDEX runs_unsent ON runs (id) WHERE delivery_status IN ('failed', 'partial');
CREATE INDEX access_sessions_by_end ON access_sessions (expires_at);
CREATE INDEX assistant_results_age ON assistant_results (created_at);
CREATE INDEX assistant_versions_age ON assistant_versions (at);
CREATE INDEX chat_conversations_newest ON chat_conversations (updated_at, id);
CREATE UNIQUE INDEX chat_messages_place ON chat_messages (conversation_id, place);
CREATE UNIQUE INDEX chat_messages_of_client ON chat_messages (client_message_id) WHERE client_message_id <> '';
CREATE INDEX chat_messages_written ON chat_messages (conversation_id) WHERE status IN ('pending', 'streaming');
CREATE INDEX chat_events_old ON chat_events (at);
CREATE INDEX chat_attachments_of ON chat_attachments (message_id);
CREATE TRIGGER changes_of_chat_conversations_created AFTER INSERT ON chat_conversations BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('chat', new.id, 'created'); END;
CREATE TRIGGER changes_of_chat_conversations_updated AFTER UPDATE OF title, updated_at ON chat_conversations BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('chat', new.id, 'updated'); END;
CREATE TRIGGER changes_of_chat_conversations_deleted AFTER DELETE ON chat_conversations BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('chat', old.id, 'deleted'); END;
CREATE INDEX cron_jobs_next ON cron_jobs (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX cron_jobs_cursor ON cron_jobs (cursor);
CREATE TRIGGER changes_of_cron_jobs_created AFTER INSERT ON cron_jobs BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('cron', new.id, 'created'); END;
CREATE TRIGGER changes_of_cron_jobs_updated AFTER UPDATE ON cron_jobs BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('cron', new.id, 'updated'); END;
CREATE TRIGGER changes_of_cron_jobs_deleted AFTER DELETE ON cron_jobs BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('cron', old.id, 'deleted'); END;
CREATE TRIGGER changes_of_cron_in_runs AFTER UPDATE OF finished_at ON runs WHEN new.kind = 'cron' AND new.finished_at IS NOT NULL BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('cron', new.subject_id, 'updated'); END;
CREATE UNIQUE INDEX task_jobs_by_branch ON task_jobs (repo, branch) WHERE branch IS NOT NULL;
CREATE INDEX task_jobs_by_status ON task_jobs (status);
CREATE INDEX task_jobs_by_run ON task_jobs (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX task_jobs_unfinished ON task_jobs (phase) WHERE phase <> 'ready';
CREATE UNIQUE INDEX memory_entries_key ON memory_entries (key) WHERE removed_at IS NULL;
CREATE INDEX memory_entries_removed ON memory_entries (removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX memory_entries_scope ON memory_entries (scope, updated_at);
CREATE INDEX memory_entries_unspaced ON memory_entries (scope) WHERE unspaced;
CREATE INDEX memory_entries_weight ON memory_entries (
        id, removed_at, expires_at, pinned, half_life_days, importance, last_accessed_at
    );
CREATE TRIGGER memory_words_added AFTER INSERT ON memory_entries BEGIN
        INSERT INTO memory_words (rowid, key, value, tags) VALUES (new.id, new.key, new.value, new.tags);
    END;
CREATE TRIGGER memory_words_deleted AFTER DELETE ON memory_entries BEGIN
        INSERT INTO memory_words (memory_words, rowid, key, value, tags)
        VALUES ('delete', old.id, old.key, old.value, old.tags);
    END;
CREATE TRIGGER memory_pieces_added AFTER INSERT ON memory_entries WHEN new.unspaced BEGIN
        INSERT INTO memory_pieces (rowid, key, value, tags) VALUES (new.id, new.key, new.value, new.tags);
    END;
CREATE TRIGGER memory_pieces_deleted AFTER DELETE ON memory_entries WHEN old.unspaced BEGIN
        INSERT INTO memory_pieces (memory_pieces, rowid, key, value, tags)
        VALUES ('delete', old.id, old.key, old.value, old.tags);
    END;
CREATE INDEX memory_entries_removed_key ON memory_entries (key, removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX notifications_by_key ON notifications (dedupe_key, created_at) WHERE dedupe_key <> '';
CREATE INDEX notifications_due ON notifications (seq) WHERE due = 1;
CREATE INDEX notifications_unread ON notifications (seq) WHERE read_at IS NULL;
CREATE TRIGGER changes_of_notifications_created AFTER INSERT ON notifications BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('notifications', new.id, 'created'); END;
CREATE TRIGGER changes_of_notifications_updated AFTER UPDATE OF title, body, level, link, count, read_at ON notifications BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('notifications', new.id, 'updated'); END;
CREATE TRIGGER changes_of_notifications_deleted AFTER DELETE ON notifications BEGIN INSERT INTO changes (topic, subject, kind) VALUES ('notifications', old.id, 'deleted'); END;
CREATE UNIQUE INDEX watcher_events_waiting ON watcher_events (rule, path) WHERE due_at IS NOT NULL;
CREATE INDEX watcher_events_due ON watcher_events (rule, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX watcher_events_recent ON watcher_events (rule, id);
PRAGMA writable_schema=OFF;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',57);
INSERT INTO "sqlite_sequence" VALUES('delivery_changes',22);
INSERT INTO "sqlite_sequence" VALUES('notifications',4);
INSERT INTO "sqlite_sequence" VALUES('run_notes',6);
INSERT INTO "sqlite_sequence" VALUES('inbox_changes',8);
INSERT INTO "sqlite_sequence" VALUES('watcher_events',1);
COMMIT;
