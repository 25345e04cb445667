-- How version 6 filed a message: with the two before it as a second column. In the place of what is there.
DROP TABLE messages_fts;
DROP VIEW messages_search;
DROP TRIGGER messages_fts_insert;
DROP TRIGGER messages_fts_update;
DROP TRIGGER messages_fts_delete;
CREATE INDEX messages_by_time ON messages(created_at);
CREATE INDEX usage_by_time ON usage(created_at);
CREATE VIEW messages_search AS SELECT id, iif(withheld, '', content) AS text, (
    SELECT group_concat(words, char(10)) FROM (
        SELECT CASE WHEN before.withheld THEN NULL WHEN length(before.content) <= 400 THEN before.content
            ELSE substr(before.content, 1, 200) || ' ' || substr(before.content, -200) END AS words
        FROM messages AS before
        WHERE before.conversation_id = messages.conversation_id AND before.id < messages.id
        ORDER BY before.id DESC LIMIT 2)) AS ctx
    FROM messages;
CREATE VIRTUAL TABLE messages_fts USING fts5(
    text, ctx, content='messages_search', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts(rowid, text, ctx) SELECT id, text, ctx FROM messages_search WHERE id = new.id;
END;
CREATE TRIGGER messages_fts_before_update BEFORE UPDATE OF content, conversation_id, withheld ON messages BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, text, ctx)
        SELECT 'delete', id, text, ctx FROM messages_search WHERE id IN (
            SELECT id FROM (
                SELECT id FROM messages WHERE conversation_id = old.conversation_id AND id >= old.id
                ORDER BY id LIMIT 3)
            UNION SELECT id FROM (
                SELECT id FROM messages WHERE conversation_id = new.conversation_id AND id > old.id
                ORDER BY id LIMIT 2));
END;
CREATE TRIGGER messages_fts_after_update AFTER UPDATE OF content, conversation_id, withheld ON messages BEGIN
    INSERT INTO messages_fts(rowid, text, ctx)
        SELECT id, text, ctx FROM messages_search WHERE id IN (
            SELECT id FROM (
                SELECT id FROM messages WHERE conversation_id = new.conversation_id AND id >= new.id
                ORDER BY id LIMIT 3)
            UNION SELECT id FROM (
                SELECT id FROM messages WHERE conversation_id = old.conversation_id AND id > old.id
                ORDER BY id LIMIT 2));
END;
CREATE TRIGGER messages_fts_before_delete BEFORE DELETE ON messages BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, text, ctx)
        SELECT 'delete', id, text, ctx FROM messages_search WHERE id IN (
            SELECT id FROM messages WHERE conversation_id = old.conversation_id AND id >= old.id
            ORDER BY id LIMIT 3);
END;
CREATE TRIGGER messages_fts_after_delete AFTER DELETE ON messages BEGIN
    INSERT INTO messages_fts(rowid, text, ctx)
        SELECT id, text, ctx FROM messages_search WHERE id IN (
            SELECT id FROM messages WHERE conversation_id = old.conversation_id AND id > old.id
            ORDER BY id LIMIT 2);
END;
