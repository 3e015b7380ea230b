-- Fails if the released table has a column that the protocol does not release, such as the secret.
select column_name
from information_schema.columns
where table_name = '{{ ref("open_people").identifier }}' and column_name not in ('town', 'smoker')
