-- accountctl: bundle=core
-- A relay address is one whatever the identities tell; a device has Apple asked three times a day at most; the operators' log refuses
-- a change from whoever switches triggers off for a session, too; and a constraint and a function are kept in the form in which a
-- server reads them back from a backup, so that one that is restored has nothing that was changed.

create or replace function accountctl.can_send(
    stream text,
    user_id uuid,
    out answer text,
    out reason text
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    account record;
    sender accountctl.mail_streams;
    relay accountctl.relay_accounts;
    claim boolean;
begin
    select u.id, u.email, u.deleted_at
    into account
    from auth.users as u
    where u.id = can_send.user_id;
    if account.id is null or account.deleted_at is not null then
        answer := 'no';
        reason := 'there is no such account';
        return;
    end if;
    select s.*
    into sender
    from accountctl.mail_streams as s
    where s.name = can_send.stream;
    if sender.id is null then
        answer := 'unknown';
        reason := 'there is no such stream';
        return;
    end if;
    select r.*
    into relay
    from accountctl.relay_accounts as r
    where r.user_id = account.id;
    -- What is known of the relay is about its address, and mail goes to the account's, which may be another one: changed since, or
    -- told by none of its identities.
    if relay.user_id is null or nullif(lower(account.email), '') <> relay.address then
        -- What Apple claims of this very address goes before its domain.
        select
            case lower(coalesce(
                i.identity_data #>> '{custom_claims,is_private_email}',
                i.identity_data ->> 'is_private_email'
            ))
                when 'true' then true
                when 'false' then false
            end
        into claim
        from auth.identities as i
        where i.user_id = account.id
          and i.provider = 'apple'
          and lower(coalesce(nullif(i.identity_data ->> 'email', ''), account.email)) = lower(account.email)
        order by i.created_at desc, i.provider_id desc
        limit 1;
        if accountctl.is_relay_address(account.email, claim) then
            relay.user_id := account.id;
            relay.forwarding := 'unknown';
        else
            relay := null;
        end if;
    end if;
    if relay.user_id is null then
        answer := case when account.email is null then 'no' else 'yes' end;
        reason := case when account.email is null then 'the account has no address' else 'not a relay address' end;
        return;
    end if;
    if relay.forwarding = 'off' then
        answer := 'no';
        reason := 'the person has switched forwarding off';
        return;
    end if;
    case
        when sender.reachable is null then
            answer := 'unknown';
            reason := 'the stream has not been checked twice yet';
        when sender.reachable = 'no' then
            answer := 'no';
            reason := format('the relay does not take mail of this stream: SPF %s, DKIM %s', sender.spf, sender.dkim);
        when sender.reachable = 'unknown' then
            answer := 'unknown';
            reason := 'it could not be told whether the relay takes mail of this stream';
        when sender.confirmed_at < now() - interval '7 days' then
            answer := 'unknown';
            reason := 'the last check that could tell is older than a week';
        else
            answer := 'yes';
            reason := format('the relay takes mail of this stream: SPF %s, DKIM %s', sender.spf, sender.dkim);
    end case;
end
$$;

comment on function accountctl.can_send is
    'Whether mail of a stream may be sent to an account: yes, no or unknown, and why. Grant accountctl_operator to your mailer''s role.';

create or replace function accountctl.report_apple_credential_state(state text, client_id text)
returns jsonb
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
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
    )
    -- What waits for the worker has Apple asked, which may be done about once a day.
    and (
        settled is not null
        or 3 > (
            select count(*)
            from accountctl.credential_events as events
            where events.user_id = caller
              and events.source = 'device'
              and events.kind = told
              and events.client_id is not distinct from report_apple_credential_state.client_id
              and events.received_at > now() - interval '1 day'
        )
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

alter table accountctl.operator_log
    enable always trigger operator_log_refuse_change;

alter table accountctl.mail_streams
    drop constraint mail_streams_domains_length,
    add constraint mail_streams_domains_length check (
        octet_length(from_domain) >= 1
        and octet_length(from_domain) <= 255
        and octet_length(envelope_domain) >= 1
        and octet_length(envelope_domain) <= 255
        and octet_length(signing_domain) >= 1
        and octet_length(signing_domain) <= 255
    );

create or replace function accountctl.relay_domains()
returns text[]
language sql
stable
set search_path = ''
begin atomic
    -- Bare icloud.com holds ordinary mail.
    select array(
        select lower(domain) as domain
        from jsonb_array_elements_text(
            coalesce(
                (
                    select settings.value
                    from accountctl.settings
                    where settings.name = 'mail.relay_domains'
                ),
                '["privaterelay.appleid.com", "private.icloud.com"]'
            )
        ) as listed (domain)
        except
        select 'icloud.com' as domain
    );
end;
