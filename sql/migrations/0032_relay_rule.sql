-- accountctl: bundle=core
-- What a relay address is, asked of a million accounts: the list of domains is read once a statement, not once an account.

create function accountctl.relay_domains()
returns text[]
language sql
stable
set search_path = ''
begin atomic
    -- Bare icloud.com holds ordinary mail.
    select array(
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
    );
end;

comment on function accountctl.relay_domains is
    'The domains whose addresses are relay addresses where Apple claims nothing (setting mail.relay_domains).';

create or replace function accountctl.is_relay_address(address text, apple_claim boolean default null)
returns boolean
language sql
stable
set search_path = ''
begin atomic
    -- Apple's claim first. By domain second, and then exactly.
    select coalesce(
        apple_claim,
        split_part(lower(address), '@', -1) = any (accountctl.relay_domains()),
        false
    );
end;

-- The same rule, in the open: a call of the function for each account costs more than all the rest.
create or replace view accountctl.relay_accounts as
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
  and coalesce(
      known.apple_claim,
      identity.claim,
      split_part(lower(coalesce(known.address, identity.email, users.email)), '@', -1)
          = any ((select accountctl.relay_domains())::text[]),
      false
  );

revoke execute on function accountctl.relay_domains() from public;
