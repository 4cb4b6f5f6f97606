-- accountctl: bundle=core
-- Mail to Apple's private relay: what is sent how, what the checks found, which accounts have a relay address.

create table accountctl.mail_streams (
    id bigint generated always as identity primary key,
    name text not null,
    from_domain text not null,
    envelope_domain text not null,
    signing_domain text not null,
    provider_name text,
    provider_includes text[] not null default '{}',
    provider_addresses text[] not null default '{}',
    return_path_target text,
    selectors jsonb not null default '[]',
    registrations jsonb,
    created_at timestamptz not null default now(),
    changed_at timestamptz not null default now(),
    standing jsonb not null default '{}',
    spf text,
    dkim text,
    reachable text,
    confirmed_at timestamptz,
    checked_at timestamptz,
    next_check_at timestamptz not null default now(),
    constraint mail_streams_name_key unique (name),
    -- No dots: on the command line a name with dots is a domain.
    constraint mail_streams_name_form check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    constraint mail_streams_domains_length check (
        octet_length(from_domain) between 1 and 255
        and octet_length(envelope_domain) between 1 and 255
        and octet_length(signing_domain) between 1 and 255
    ),
    constraint mail_streams_provider_length check (
        length(provider_name) <= 100
        and cardinality(provider_includes) <= 20
        and cardinality(provider_addresses) <= 200
    ),
    constraint mail_streams_selectors_form check (jsonb_typeof(selectors) = 'array' and jsonb_array_length(selectors) <= 20),
    constraint mail_streams_registrations_form check (jsonb_typeof(registrations) = 'array'),
    constraint mail_streams_standing_form check (jsonb_typeof(standing) = 'object'),
    constraint mail_streams_spf_known check (spf in ('ok', 'weak', 'broken', 'unknown')),
    constraint mail_streams_dkim_known check (dkim in ('ok', 'weak', 'broken', 'unknown')),
    constraint mail_streams_reachable_known check (reachable in ('yes', 'no', 'unknown'))
);

comment on table accountctl.mail_streams is
    'One way in which mail leaves: From domain, envelope domain, provider, selectors, and what is registered with Apple.';
comment on column accountctl.mail_streams.envelope_domain is 'The return path: its SPF policy counts, and it must be registered.';
comment on column accountctl.mail_streams.provider_includes is 'Names whose SPF policies list the provider''s addresses.';
comment on column accountctl.mail_streams.selectors is 'DKIM selectors: name, and the alias target or key that is expected.';
comment on column accountctl.mail_streams.registrations is
    'Names declared to be registered with Apple, with date and by whom; null: nothing was said.';
comment on column accountctl.mail_streams.standing is 'What two checks agreed on, and what waits for a second (StreamStanding).';
comment on column accountctl.mail_streams.spf is 'The SPF path as two checks agreed; an unknown outcome never replaces it.';
comment on column accountctl.mail_streams.confirmed_at is 'When the verdict was last seen to hold: an unknown outcome lets it age.';
comment on column accountctl.mail_streams.next_check_at is 'Hourly after a change or in doubt, daily when stable, spread by a tenth.';

create index mail_streams_next_check_at_idx
    on accountctl.mail_streams (next_check_at);

create table accountctl.mail_checks (
    id bigint generated always as identity primary key,
    stream_id bigint not null references accountctl.mail_streams on delete cascade,
    checked_at timestamptz not null default now(),
    took interval not null,
    spf text not null,
    dkim text not null,
    reachable text not null,
    conclusion text not null,
    is_change boolean not null,
    findings jsonb not null,
    answers jsonb not null,
    constraint mail_checks_conclusion_known check (conclusion in ('ok', 'advice', 'broken', 'unknown')),
    constraint mail_checks_findings_form check (jsonb_typeof(findings) = 'array'),
    constraint mail_checks_answers_form check (jsonb_typeof(answers) = 'array')
);

comment on table accountctl.mail_checks is 'What each check of a stream found, with the raw answers of DNS. Kept for 90 days.';
comment on column accountctl.mail_checks.is_change is 'Whether this check settled a new verdict: the second of two that agree.';
comment on column accountctl.mail_checks.answers is 'Question, outcome, TTL, aliases and records, as the check saw them.';

-- The newest checks of a stream; also what the upkeep deletes.
create index mail_checks_stream_id_idx
    on accountctl.mail_checks (stream_id, checked_at desc);

create table accountctl.relay_addresses (
    user_id uuid not null primary key references auth.users on delete cascade,
    address text not null,
    apple_claim boolean,
    forwarding text not null default 'unknown',
    forwarding_changed_at timestamptz,
    constraint relay_addresses_address_form check (address = lower(address) and octet_length(address) between 3 and 320),
    constraint relay_addresses_forwarding_known check (forwarding in ('on', 'off', 'unknown')),
    constraint relay_addresses_forwarding_dated check ((forwarding = 'unknown') = (forwarding_changed_at is null))
);

comment on table accountctl.relay_addresses is
    'What Apple''s events tell of an account''s relay address. Which accounts have one is in relay_accounts. Goes with its account.';
comment on column accountctl.relay_addresses.apple_claim is 'Apple''s own word whether the address is a private one; null: not said.';
comment on column accountctl.relay_addresses.forwarding is 'Whether the person lets the relay forward, by the newest event.';

create index relay_addresses_address_idx
    on accountctl.relay_addresses (address);

-- Functions ------------------------------------------------------------------------------------------------------------

create function accountctl.is_relay_address(address text, apple_claim boolean default null)
returns boolean
language sql
stable
set search_path = ''
begin atomic
    -- Apple's claim first. By domain second, and then exactly: bare icloud.com holds ordinary mail.
    select coalesce(
        apple_claim,
        split_part(lower(address), '@', -1) in (
            select jsonb_array_elements_text(
                coalesce(
                    (
                        select settings.value
                        from accountctl.settings
                        where settings.name = 'mail.relay_domains'
                    ),
                    '["privaterelay.appleid.com", "private.icloud.com"]'
                )
            )
            except
            select 'icloud.com'
        ),
        false
    );
end;

comment on function accountctl.is_relay_address is
    'Whether an address is one of Apple''s private relay: by Apple''s claim, else by domain (setting mail.relay_domains).';

-- One row for each account with a relay address. The claim lies in the Apple identity; it may be a boolean or a string.
create view accountctl.relay_accounts as
select
    users.id as user_id,
    lower(coalesce(known.address, identity.email, users.email)) as address,
    coalesce(known.apple_claim, identity.claim) as apple_claim,
    case
        when coalesce(known.apple_claim, identity.claim) is null then 'domain'
        else 'claim'
    end as known_by,
    coalesce(known.forwarding, 'unknown') as forwarding,
    known.forwarding_changed_at
from auth.users
left join accountctl.relay_addresses as known
    on known.user_id = users.id
left join lateral (
    select
        identities.identity_data ->> 'email' as email,
        case lower(coalesce(
            identities.identity_data ->> 'is_private_email',
            identities.identity_data #>> '{custom_claims,is_private_email}'
        ))
            when 'true' then true
            when 'false' then false
        end as claim
    from auth.identities
    where identities.user_id = users.id
      and identities.provider = 'apple'
    order by identities.created_at desc
    limit 1
) as identity
    on true
where users.deleted_at is null
  and accountctl.is_relay_address(
      coalesce(known.address, identity.email, users.email),
      coalesce(known.apple_claim, identity.claim)
  );

comment on view accountctl.relay_accounts is 'Accounts with a relay address, how that is known, and whether it forwards.';

create function accountctl.note_relay_address(
    user_id uuid,
    address text,
    forwards boolean,
    happened_at timestamptz,
    apple_claim boolean default null
)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
begin
    insert into accountctl.relay_addresses as known (user_id, address, apple_claim, forwarding, forwarding_changed_at)
    values (
        note_relay_address.user_id,
        lower(note_relay_address.address),
        note_relay_address.apple_claim,
        case note_relay_address.forwards when true then 'on' when false then 'off' else 'unknown' end,
        case when note_relay_address.forwards is not null then note_relay_address.happened_at end
    )
    on conflict on constraint relay_addresses_pkey do update
    set address = excluded.address,
        apple_claim = coalesce(excluded.apple_claim, known.apple_claim),
        forwarding = case when excluded.forwarding = 'unknown' then known.forwarding else excluded.forwarding end,
        forwarding_changed_at = coalesce(excluded.forwarding_changed_at, known.forwarding_changed_at)
    -- Events come late and twice: an older one changes nothing.
    where known.forwarding_changed_at is null
       or note_relay_address.happened_at >= known.forwarding_changed_at;
    return found;
end
$$;

comment on function accountctl.note_relay_address is
    'Takes in what an event of Apple tells of an account''s relay address; an event older than the newest one changes nothing and gives false.';

create function accountctl.can_send(
    stream text,
    user_id uuid,
    out answer text,
    out reason text
)
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
    account record;
    sender accountctl.mail_streams;
    relay accountctl.relay_accounts;
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
    'Whether mail of a stream may be sent to an account: yes, no or unknown, and why. Grant EXECUTE to your mailer''s role.';

revoke execute on function accountctl.is_relay_address(text, boolean) from public;
revoke execute on function accountctl.note_relay_address(uuid, text, boolean, timestamptz, boolean) from public;
revoke execute on function accountctl.can_send(text, uuid) from public;
grant execute on function accountctl.can_send(text, uuid) to accountctl_operator;
