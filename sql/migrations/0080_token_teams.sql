-- accountctl: bundle=core
-- When an app moves to another team, Apple takes none of its older tokens any more, and calls each of them revoked. The team with whose
-- key a token was obtained, or last found valid, is kept with it, where dates of the transfer had to tell: those knew of no Services ID
-- that moved along, and took the tokens of another app of the former team for moved.

alter table accountctl.apple_credentials
    add column team_id text,
    add constraint apple_credentials_team_id check (team_id ~ '^[A-Za-z0-9]{10}$');

comment on column accountctl.apple_credentials.team_id is
    'The team with whose key it was obtained, or last found valid. Null until then where it was obtained earlier.';

alter table accountctl.pending_revocations
    add column team_id text,
    add constraint pending_revocations_team_id check (team_id ~ '^[A-Za-z0-9]{10}$');

comment on column accountctl.pending_revocations.team_id is 'The same of the token that is to be revoked.';

-- What a transfer under way has left counts as before, under the name of a team that nobody has.
update accountctl.apple_credentials as c
set team_id = 'FORMERTEAM'
from accountctl.apple_transfers as t
join (
    select client_id, target_team, min(updated_at) as told_at
    from accountctl.apple_transfers
    where new_sub is not null
    group by client_id, target_team
) as first using (client_id, target_team)
where t.user_id = c.user_id
and t.transfer_identifier is not null
and (t.client_id = c.client_id or t.new_sub is not null and c.apple_sub in (t.old_sub, t.new_sub))
and (t.state = 'applied' or t.new_sub is distinct from c.apple_sub)
and first.told_at > greatest(c.obtained_at, c.last_live_at);

update accountctl.pending_revocations as p
set team_id = 'FORMERTEAM',
    last_outcome = nullif(p.last_outcome, 'former_team')
where p.state = 'waiting'
and (
    p.last_outcome = 'former_team'
    or exists (
        select
        from accountctl.apple_transfers as t
        where t.client_id = p.client_id
          and t.new_sub is not null
        group by t.target_team
        having min(t.updated_at) > p.created_at
    )
);

-- A sub that a transfer will give somebody is that person's for every client of the team, of which the run names one.
drop index accountctl.apple_transfers_new_sub_idx;
create index apple_transfers_new_sub_idx
    on accountctl.apple_transfers (new_sub)
    where new_sub is not null;

-- A full inbox makes room by what the worker has looked at and could not judge. Whoever filled it with what names keys that Apple does
-- not publish, which waits for a quarter of an hour each, kept Apple's notifications out with one request a second.
create or replace function accountctl.receive_apple_notification(body text)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if octet_length(body) is null or octet_length(body) not between 1 and 32768 then
        raise exception 'the body of a notification has 1 to 32768 bytes' using errcode = '22023';
    end if;
    if 1000 <= (select count(*) from accountctl.apple_inbox) then
        -- The latest one: of what waits for an outage of Apple's keys to end, a flood does not displace the rest.
        delete from accountctl.apple_inbox
        where id = (
            select id
            from accountctl.apple_inbox
            where tries > 0
            order by tries, id desc
            limit 1
            for update skip locked
        );
        if not found then
            raise exception 'the inbox is full; is a worker running?' using errcode = '53400';
        end if;
    end if;
    insert into accountctl.apple_inbox (digest, body)
    values (sha256(convert_to(receive_apple_notification.body, 'UTF8')), receive_apple_notification.body)
    on conflict (digest) do nothing;
    return found;
end;
$$;
