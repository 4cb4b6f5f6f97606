-- accountctl: bundle=core
-- What devices report at each launch, one row a day of each active account, asks for nothing: it is stored as handled, so that what
-- does ask for something never waits behind it, and the next report takes its place.

create or replace function accountctl.report_apple_credential_state(state text, client_id text)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    caller uuid := accountctl.calling_account();
    told text := case state
        when 'authorized' then 'state_authorized'
        when 'revoked' then 'state_revoked'
        when 'notFound' then 'state_not_found'
        when 'transferred' then 'state_transferred'
    end;
    -- Another Apple Account on the device, or a build with a wrong team, says nothing about the account.
    settled text := case state
        when 'authorized' then 'noted'
        when 'notFound' then 'device_only'
    end;
begin
    if told is null then
        raise exception 'state must be authorized, revoked, notFound or transferred' using errcode = '22023';
    end if;
    if client_id !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$' then
        raise exception 'client_id must be a bundle id or Services ID' using errcode = '22023';
    end if;
    -- The app tells it at each launch: a state is news when it differs from the last one, and once a day.
    insert into accountctl.credential_events (source, kind, client_id, user_id, handled_at, outcome)
    select
        'device', told, report_apple_credential_state.client_id, caller,
        case when settled is not null then now() end, settled
    where told is distinct from (
        select events.kind
        from accountctl.credential_events as events
        where events.user_id = caller
          and events.source = 'device'
          and events.client_id is not distinct from report_apple_credential_state.client_id
          and events.received_at > now() - interval '1 day'
        order by events.received_at desc, events.id desc
        limit 1
    )
    and 50 > (
        select count(*)
        from accountctl.credential_events as events
        where events.user_id = caller
          and events.received_at > now() - interval '1 day'
    );
    if found then
        -- The day's are counted above. What led to something is kept for as long as somebody may ask about it.
        delete from accountctl.credential_events as events
        where events.user_id = caller
          and events.source = 'device'
          and events.handled_at is not null
          and events.received_at <= now() - interval '1 day'
          and (
              events.received_at <= now() - interval '90 days'
              or (
                  events.kind in ('state_authorized', 'state_not_found')
                  and events.client_id is not distinct from report_apple_credential_state.client_id
              )
          );
    end if;
    return jsonb_build_object('accepted', true);
end;
$$;
