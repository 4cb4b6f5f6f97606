-- accountctl: bundle=core
-- When an app moves to another team, Apple takes none of its older tokens any more, and calls each of them revoked. The team with whose
-- key a token was obtained, or last found valid, is kept with it, where dates of the transfer had to tell: those knew of no Services ID
-- that moved along, and took the tokens of another app of the former team for moved.

alter table accountctl.apple_credentials
    add column team_id text,
    add constraint apple_credentials_team_id check (team_id ~ '^[A-Za-z0-9]{10}$');

comment on column accountctl.apple_credentials.team_id is
    'The team with whose key it was obtained, or last found valid. Null if that is not known, FORMERTEAM if only that the app left it.';

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
set team_id = 'FORMERTEAM'
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

-- The release before names no team: beside this one, or after a rollback. A token that it obtains or finds valid is not the former team's
-- that was held; and of one to be revoked, it tells by the outcome that it is the former team's, and has to be told so.
create function accountctl.judge_former_team()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if tg_op = 'UPDATE' then
        new.team_id := null;
    else
        new.team_id := coalesce(new.team_id, 'FORMERTEAM');
        new.last_outcome := 'former_team';
    end if;
    return new;
end;
$$;
revoke execute on function accountctl.judge_former_team() from public;
comment on function accountctl.judge_former_team() is 'Trigger of tokens of a former team that the release before writes or reads.';

create trigger apple_credentials_judge_former_team
    before update on accountctl.apple_credentials
    for each row
    when (
        old.team_id = 'FORMERTEAM'
        and new.team_id = 'FORMERTEAM'
        and greatest(new.obtained_at, new.last_live_at) > greatest(old.obtained_at, old.last_live_at)
    )
    execute function accountctl.judge_former_team();

create trigger pending_revocations_judge_former_team
    before insert on accountctl.pending_revocations
    for each row
    when (new.state = 'waiting' and (new.team_id = 'FORMERTEAM' or new.last_outcome = 'former_team'))
    execute function accountctl.judge_former_team();

-- Where the app moves before the daily check has found a token's team, that is told by Apple's first answer about its person: whatever was
-- held for another sub then is the former team's. What waits without its person goes by the first answer about anybody.
create function accountctl.leave_former_team()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    update accountctl.apple_credentials as c
    set team_id = 'FORMERTEAM'
    where c.user_id = new.user_id
    and c.team_id is null
    and (c.client_id = new.client_id or c.apple_sub = new.old_sub)
    and c.apple_sub <> new.new_sub;
    -- Looked at first: whether Apple has told of anybody may take long to find.
    if exists (
        select
        from accountctl.pending_revocations as p
        where p.state = 'waiting'
          and p.client_id = new.client_id
          and p.team_id is null
    ) then
        update accountctl.pending_revocations as p
        set team_id = 'FORMERTEAM',
            last_outcome = 'former_team'
        where p.state = 'waiting'
        and p.client_id = new.client_id
        and p.team_id is null
        and not exists (
            select
            from accountctl.apple_transfers as t
            where t.client_id = new.client_id
              and t.target_team = new.target_team
              and t.new_sub is not null
              and t.id <> new.id
        );
    end if;
    return null;
end;
$$;
revoke execute on function accountctl.leave_former_team() from public;
comment on function accountctl.leave_former_team() is 'Trigger of transfers: names the team of tokens that have none so far.';

create trigger apple_transfers_leave_former_team
    after update of new_sub on accountctl.apple_transfers
    for each row
    when (old.new_sub is null and new.new_sub is not null)
    execute function accountctl.leave_former_team();

-- A sub that a transfer will give somebody is that person's for every client of the team, of which the run names one.
drop index accountctl.apple_transfers_new_sub_idx;
create index apple_transfers_new_sub_idx
    on accountctl.apple_transfers (new_sub)
    where new_sub is not null;

-- A full inbox makes room by what names a key that is not Apple's. Whoever filled it with that, which waits for a quarter of an hour each,
-- kept Apple's notifications out with one request a second. What waits for Apple's keys, for this machine's clock or for the database may
-- be Apple's own, which does not send it again.
alter table accountctl.apple_inbox
    add column may_yield boolean not null default false;

comment on column accountctl.apple_inbox.may_yield is
    'Whether Apple''s keys were at hand at the last look, and it names none of them: it makes room in a full inbox.';

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
    if exists (
        select
        from accountctl.apple_inbox as known
        where known.digest = sha256(convert_to(receive_apple_notification.body, 'UTF8'))
    ) then
        return false;
    end if;
    if 1000 <= (select count(*) from accountctl.apple_inbox) then
        -- The one that was looked at most: Apple's own may name a key that is new.
        delete from accountctl.apple_inbox
        where id = (
            select id
            from accountctl.apple_inbox
            where may_yield
            order by tries desc, id
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
