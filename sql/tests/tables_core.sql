-- What the tables of settings, of the operators' log and of adoption refuse, and what they fill in.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

insert into valid
values
    ('settings', '{"name": "a.b_c2", "value": 1}', '{}', '{"updated_at": "00:00:00"}'),
    (
        'operator_log', '{"operator": "kim", "action": "user.show"}', '{}',
        jsonb_build_object('logged_at', '00:00:00', 'database_role', session_user, 'facts', jsonb_build_object())
    ),
    ('adoption_notes', '{"item": "i", "object": "o", "decision": "created"}', '{}', '{"noted_at": "00:00:00"}');

insert into refused
values
    ('settings', '{"name": "A b"}', 'settings_name_form'),
    ('settings', '{"name": "a."}', 'settings_name_form'),
    ('settings', jsonb_build_object('name', repeat('a', 100)), 'nothing'),
    ('settings', jsonb_build_object('name', repeat('a', 101)), 'settings_name_form'),
    ('operator_log', '{"operator": ""}', 'operator_log_operator_length'),
    ('operator_log', jsonb_build_object('operator', repeat('o', 201)), 'operator_log_operator_length'),
    ('operator_log', '{"action": "User shown!"}', 'operator_log_action_form'),
    ('operator_log', jsonb_build_object('action', repeat('a', 101)), 'operator_log_action_form'),
    ('operator_log', '{"subject_key": "k1"}', 'operator_log_subject_whole'),
    ('operator_log', jsonb_build_object('subject_hash', sha256('x')), 'operator_log_subject_whole'),
    ('operator_log', jsonb_build_object('subject_key', '', 'subject_hash', sha256('x')), 'operator_log_subject_key_length'),
    (
        'operator_log', jsonb_build_object('subject_key', repeat('k', 101), 'subject_hash', sha256('x')),
        'operator_log_subject_key_length'
    ),
    ('operator_log', '{"subject_key": "k1", "subject_hash": "\\x00"}', 'operator_log_subject_hash_length'),
    ('operator_log', jsonb_build_object('reason', repeat('r', 2001)), 'operator_log_reason_length'),
    ('operator_log', '{"ticket": ""}', 'operator_log_ticket_length'),
    ('operator_log', jsonb_build_object('ticket', repeat('t', 201)), 'operator_log_ticket_length'),
    ('operator_log', '{"machine_user": ""}', 'operator_log_machine_user_length'),
    ('operator_log', jsonb_build_object('machine_user', repeat('m', 201)), 'operator_log_machine_user_length'),
    ('operator_log', '{"facts": []}', 'operator_log_facts_form'),
    ('operator_log', jsonb_build_object('facts', jsonb_build_object('a', repeat('f', 10000))), 'operator_log_facts_form'),
    ('adoption_notes', '{"decision": "dropped", "reason": "r"}', 'adoption_notes_decision_known'),
    ('adoption_notes', '{"decision": "kept"}', 'adoption_notes_reason_given'),
    ('adoption_notes', '{"decision": "left_off"}', 'adoption_notes_reason_given'),
    ('adoption_notes', '{"decision": "left_off", "reason": "r"}', 'nothing'),
    ('adoption_notes', '{"decision": "replaced"}', 'nothing');

insert into refused_beside
values
    ('settings', '{}', 'settings_pkey'),
    ('adoption_notes', '{}', 'adoption_notes_pkey');

select * from check_tables();

select * from finish();
rollback;
