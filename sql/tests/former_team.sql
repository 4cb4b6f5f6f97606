-- Whose team a token is, where the release before writes beside this one, or an app moves before that is known of every token.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up(name) from unnest(array['Anna', 'Ben', 'Cleo']) as name;

create function pg_temp.hold(name text, client text, sub text, team text default null) returns void language sql as $$
    insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id, team_id, obtained_at)
    values (id(name), client, sub, sub, 'k', team, now() - interval '3 hours')
$$;
create function pg_temp.team(name text, client text) returns text language sql as $$
    select coalesce(team_id, 'none') from accountctl.apple_credentials where user_id = id(name) and client_id = client
$$;

-- What the release before obtains or finds valid -------------------------------------------------------------------------

select pg_temp.hold('Anna', client, 'old', 'FORMERTEAM') from unnest(array['app', 'web', 'tv']) as client;
insert into accountctl.apple_credentials as c (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
values (id('Anna'), 'app', 'new', 'new', 'k')
on conflict (user_id, client_id) do update
set apple_sub = excluded.apple_sub, sealed_token = excluded.sealed_token, obtained_at = clock_timestamp();
update accountctl.apple_credentials set last_live_at = clock_timestamp() where client_id = 'web';
update accountctl.apple_credentials set sealed_token = 'moved to another key', doubts = 1 where client_id = 'tv';
select is(pg_temp.team('Anna', client), team, 'the team of the token of the client ' || client)
from (values ('app', 'none'), ('web', 'none'), ('tv', 'FORMERTEAM')) as held (client, team);

update accountctl.apple_credentials set last_live_at = clock_timestamp(), team_id = 'TEAM123456' where client_id = 'tv';
select is(pg_temp.team('Anna', 'tv'), 'TEAM123456', 'the team that this release names remains');

-- What is to be revoked, by either release -------------------------------------------------------------------------------

insert into accountctl.pending_revocations (client_id, sealed_token, sealing_key_id, give_up_at, team_id, last_outcome)
values
    ('app', 'of the release before', 'k', now(), null, 'former_team'),
    ('app', 'of this one', 'k', now(), 'FORMERTEAM', null),
    ('app', 'of the new team', 'k', now(), 'TEAM123456', null),
    ('app', 'unknown', 'k', now(), null, null);
select results_eq(
    'select sealed_token, team_id, last_outcome from accountctl.pending_revocations order by id',
    $$
        values
            ('of the release before', 'FORMERTEAM', 'former_team'),
            ('of this one', 'FORMERTEAM', 'former_team'),
            ('of the new team', 'TEAM123456', null),
            ('unknown', null, null)
    $$,
    'each release is told of a token of the former team as it reads it'
);

-- An app that moves before the teams are known ---------------------------------------------------------------------------

select pg_temp.hold(name, 'app', name || ' old') from unnest(array['Ben', 'Cleo']) as name;
select pg_temp.hold('Ben', 'web', 'Ben old');
select pg_temp.hold('Ben', 'tv', 'of another team');
select pg_temp.hold('Cleo', 'web', 'Cleo new');
insert into accountctl.apple_transfers (user_id, client_id, target_team, old_sub, transfer_identifier, state)
select id(name), 'app', 'RECIPIENT1', name || ' old', name, 'generated'
from unnest(array['Ben', 'Cleo']) as name;
update accountctl.apple_transfers set new_sub = 'Ben new', state = 'exchanged' where user_id = id('Ben');
select is(pg_temp.team(name, client), team, 'the team of the token of ' || name || ' and the client ' || client)
from (
    values
        ('Ben', 'app', 'FORMERTEAM'), ('Ben', 'web', 'FORMERTEAM'), ('Ben', 'tv', 'none'), ('Cleo', 'app', 'none')
) as held (name, client, team);
select is(team_id, 'FORMERTEAM', 'a token that waits without its person is the former team''s')
from accountctl.pending_revocations
where sealed_token = 'unknown';

insert into accountctl.pending_revocations (client_id, sealed_token, sealing_key_id, give_up_at)
values ('app', 'later', 'k', now());
update accountctl.apple_transfers set new_sub = 'Cleo new', state = 'exchanged' where user_id = id('Cleo');
select is(pg_temp.team('Cleo', client), team, 'the team of the token of Cleo and the client ' || client)
from (values ('app', 'FORMERTEAM'), ('web', 'none')) as held (client, team);
select is(team_id, null, 'what was handed over after Apple''s first answer may be the new team''s')
from accountctl.pending_revocations
where sealed_token = 'later';

select * from finish();
rollback;
