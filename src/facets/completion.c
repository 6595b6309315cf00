/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of completion words. Its rows are read by people who speak the language: a phrase too many among those that
 * deny leaves a task pending for longer, a phrase too many among completions loses a task. Words that mean different
 * things in two languages are in the row of the more careful one.
 */
#include "facets/completion.h"

#include <assert.h>

/* Phrases are in lower case, parted by "|". */
struct row {
  enum rp__phrase_kind kind;
  const char *phrases;
};

/* Languages that part words by spaces: a phrase begins and ends where a word does. */
static const struct row spaced[] = {
    /* English */
    {RP_PHRASE_DONE, "done|completed|finished|closed|merged|resolved|[x]"},
    {RP_PHRASE_STATE, "complete"},
    {RP_PHRASE_DENIES,
     "not|never|none|neither|nor|cannot|isnt|wasnt|arent|hasnt|almost|nearly|half|halfway|partly|partially|barely|"
     "hardly|incomplete|unfinished|undone|unresolved|pending|todo|to do|progress|in-progress|wip|open|reopened|reopen|"
     "reverted|blocked|still|yet|ought|to be|to get|need|needs|"
     "needed|want|wants|wanted|have to|has to|had to|going to|gonna|hope|hopefully|plan|planned|plans|expect|expected|"
     "try|trying|due|deadline|eta|tomorrow|soon|get|let|lets|please|make sure|ensure|check|verify|assume|assuming|"
     "suppose|wonder|unsure|unclear|doubt|maybe|perhaps|probably|all but|everything but"},
    {RP_PHRASE_MODAL, "will|ll|shall|would|should|must|can|could|may|might"},
    {RP_PHRASE_PRECEDES, "no|after|before|without"},
    {RP_PHRASE_CONDITION, "if|when|whenever|once|until|till|unless|whether|provided|as soon as|in case"},
    {RP_PHRASE_BREAK, "but|while|whereas|although|though|because|however|except|so|then"},
    {RP_PHRASE_AND, "and|plus|as well as"},
    {RP_PHRASE_SUBJECT, "i|we|you|he|she"},
    {RP_PHRASE_SAME, "it|its|they|this|that|which|both|is|are|was|were|has|have|been|all"},
    {RP_PHRASE_ARTICLE, "the|a|an|any|each|every"},
    {RP_PHRASE_FILLER, "task|tasks|ticket|tickets|issue|issues|with|now|also|just|already|finally|fully|up|included"},
    {RP_PHRASE_ASKS, "what|how|who|why|where|did|does|do|am"},
    /* German */
    {RP_PHRASE_DONE, "fertig|fertiggestellt|erledigt|abgeschlossen|beendet|geschlossen|gemergt|vollendet"},
    {RP_PHRASE_DENIES, "nicht|nie|kein|keine|keiner|weder|noch|fast|beinahe|halb|teilweise|unfertig|unerledigt|"
                       "unvollständig|offen|zu erledigen|bald|morgen|bitte|vielleicht"},
    {RP_PHRASE_MODAL, "wird|werden|werde|würde|soll|sollte|sollen|muss|müssen|kann|kannst|könnte"},
    {RP_PHRASE_CONDITION, "wenn|falls|sobald|sofern|ob|bis"},
    {RP_PHRASE_PRECEDES, "nach|nachdem|bevor|vor|ohne"},
    {RP_PHRASE_BREAK, "aber|sondern|während|weil|obwohl|doch|dann"},
    {RP_PHRASE_AND, "und|sowie"},
    {RP_PHRASE_SUBJECT, "wir|du|ihr"},
    {RP_PHRASE_SAME, "es|ist|sind|war|waren|wurde|wurden|beide|alles"},
    {RP_PHRASE_ARTICLE, "der|die|das|den|dem|ein|eine|einen"},
    {RP_PHRASE_FILLER, "aufgabe|aufgaben|mit|jetzt|auch|schon|bereits|nun|endlich|habe|haben"},
    {RP_PHRASE_ASKS, "wer|wie|wann|warum|hat|hast"},
    /* French */
    {RP_PHRASE_DONE, "terminé|terminée|terminés|terminées|fini|finie|finis|finies|achevé|achevée|fermé|fermée|clôturé|"
                     "clôturée|fusionné|fusionnée|résolu|résolue"},
    {RP_PHRASE_DENIES,
     "pas|jamais|presque|aucun|aucune|inachevé|inachevée|incomplet|incomplète|sera|seront|serait|doit|doivent|devrait|"
     "peut|pourrait|faut|à faire|en cours|bientôt|demain|veuillez|encore"},
    {RP_PHRASE_CONDITION, "quand|lorsque|si|dès|jusqu"},
    {RP_PHRASE_PRECEDES, "après|avant|sans"},
    {RP_PHRASE_BREAK, "mais|tandis|car|parce"},
    {RP_PHRASE_AND, "et"},
    {RP_PHRASE_SUBJECT, "je|nous|tu|vous"},
    {RP_PHRASE_SAME, "est|sont|c|elle|il|elles|ils|tout"},
    {RP_PHRASE_ARTICLE, "le|la|les|un|une"},
    {RP_PHRASE_FILLER, "tâche|tâches|avec|maintenant|déjà|aussi|enfin"},
    /* Spanish */
    {RP_PHRASE_DONE,
     "terminado|terminada|terminados|terminadas|terminé|terminó|completado|completada|completadas|completé|completó|"
     "hecho|hecha|hechas|lista|listo|listas|cerrado|cerrada|cerradas|cerré|cerró|acabado|acabada|acabé|fusionado|"
     "fusionada"},
    {RP_PHRASE_DENIES,
     "nunca|jamás|casi|aún|todavía|incompleto|incompleta|pendiente|será|estará|estarán|debe|deben|debería|puede|podría|"
     "falta|por hacer|en curso|mañana|quizás"},
    {RP_PHRASE_CONDITION, "cuando|una vez|hasta"},
    {RP_PHRASE_PRECEDES, "después|antes|sin"},
    {RP_PHRASE_BREAK, "pero|mientras|porque|aunque|sino"},
    {RP_PHRASE_AND, "y"},
    {RP_PHRASE_SUBJECT, "yo|nosotros"},
    {RP_PHRASE_SAME, "está|están|fue|ya|ha|han"},
    {RP_PHRASE_ARTICLE, "el|los|las|una"},
    {RP_PHRASE_FILLER, "tarea|tareas|con|también|he|se ha|se han|se terminó|se completó|se cerró"},
    {RP_PHRASE_ASKS, "qué|cómo|cuándo"},
    /* Portuguese */
    {RP_PHRASE_DONE, "terminei|terminou|concluído|concluída|concluídas|concluí|concluiu|feito|feita|feitas|"
                     "pronta|fechado|fechada|fechei|fechou|finalizado|finalizada|encerrada|mesclado|mesclada"},
    {RP_PHRASE_STATE, "completo|completa|completos|completas"},
    {RP_PHRASE_DENIES,
     "não|quase|ainda|inacabada|deve|devem|deveria|pode|poderia|precisa|vai|vão|estará|estiver|por fazer|"
     "em andamento|amanhã|talvez"},
    {RP_PHRASE_CONDITION, "quando|se|assim que|até"},
    {RP_PHRASE_PRECEDES, "depois|sem"},
    {RP_PHRASE_BREAK, "mas|porém|enquanto"},
    {RP_PHRASE_AND, "e"},
    {RP_PHRASE_SUBJECT, "eu|nós"},
    {RP_PHRASE_SAME, "estão|foi|foram|já"},
    {RP_PHRASE_ARTICLE, "o|os|um|uma"},
    {RP_PHRASE_FILLER, "tarefa|tarefas|com|também|agora"},
    /* Italian */
    {RP_PHRASE_DONE, "finito|finita|finiti|terminata|terminati|completato|completata|completate|fatto|fatta|fatte|"
                     "chiuso|chiusa|chiuse|conclusa|concluso"},
    {RP_PHRASE_DENIES,
     "non|mai|quasi|ancora|incompiuta|sarà|saranno|deve|devono|dovrebbe|può|potrebbe|bisogna|da fare|in corso|domani|"
     "forse|verrà"},
    {RP_PHRASE_CONDITION, "appena|finché"},
    {RP_PHRASE_PRECEDES, "dopo|prima|senza"},
    {RP_PHRASE_BREAK, "ma|però|mentre|perché"},
    {RP_PHRASE_SUBJECT, "io|noi"},
    {RP_PHRASE_SAME, "è|sono|stata|stato"},
    {RP_PHRASE_ARTICLE, "lo|gli"},
    {RP_PHRASE_FILLER, "compito|compiti|attività|anche|adesso|ho|abbiamo"},
    /* Russian */
    {RP_PHRASE_DONE,
     "готов|готова|готово|готовы|сделан|сделана|сделано|сделаны|сделал|сделала|сделали|выполнен|выполнена|выполнено|"
     "выполнены|выполнил|выполнила|завершен|завершена|завершено|завершены|завершён|завершил|завершила|завершили|закрыт|"
     "закрыта|закрыто|закрыты|закрыл|закрыла|закрыли|закончен|закончена|закончено|закончены|закончил|закончила|"
     "закончили|решена|слита"},
    {RP_PHRASE_DENIES,
     "не|ни|никогда|почти|пока|ещё|еще|незавершена|недоделана|открыта|будет|будут|нужно|надо|должна|должен|должны|"
     "может|можно|скоро|завтра|пожалуйста|ли|чтобы"},
    {RP_PHRASE_CONDITION, "если|когда|пока не|как только"},
    {RP_PHRASE_PRECEDES, "после|до|без|перед"},
    {RP_PHRASE_BREAK, "но|а|хотя|потому"},
    {RP_PHRASE_AND, "и"},
    {RP_PHRASE_SUBJECT, "я|мы|ты|вы"},
    {RP_PHRASE_SAME, "она|он|оно|они|это|была|был|обе|обе задачи"},
    {RP_PHRASE_FILLER, "задача|задачи|задачу|с|уже|теперь|тоже|наконец"},
};

/* Languages that write words without spaces, or with endings joined to them: a phrase may stand anywhere. */
static const struct row joined[] = {
    /* Signs */
    {RP_PHRASE_DONE, "✅|✔|✓|☑"},
    {RP_PHRASE_DENIES, "❌|⏳|🚧|☐"},
    {RP_PHRASE_BREAK, "→"},
    /* Chinese */
    {RP_PHRASE_DONE,
     "已完成|已经完成|完成了|做完了|做好了|搞定了|搞定|已结束|结束了|已关闭|关闭了|已關閉|已合并|合并了|已解决"},
    {RP_PHRASE_STATE, "完成|完毕|做完"},
    {RP_PHRASE_DENIES,
     "未|没|沒|不|几乎|快要|即将|差不多|待|将|将会|会|要|应该|应当|需要|必须|请|吗|嗎|是否|还在|进行中|"
     "完成后|完成後|完成时|完成之后|完成以后|完成度"},
    {RP_PHRASE_CONDITION, "如果|若|一旦|等到|当|假如"},
    {RP_PHRASE_BREAK, "但是|但|不过|而|因为"},
    {RP_PHRASE_AND, "和|与|及|以及"},
    {RP_PHRASE_SUBJECT, "我们|我|你"},
    {RP_PHRASE_SAME, "它|都|已经|现在"},
    {RP_PHRASE_FILLER, "任务|都已"},
    /* Japanese */
    {RP_PHRASE_DONE, "完了|終了|終わった|終わりました|済み|済んだ|完成した|完成しました|クローズ|マージ済み|"
                     "マージした|マージしました|片付いた"},
    {RP_PHRASE_DENIES, "ない|ません|まだ|ほぼ|ほとんど|予定|必要|べき|ください|下さい|ましょう|までに|ですか|ましたか|"
                       "でしょうか|完了する|"
                       "完了します|完了させ|完了後|終わる|終わります|途中|未完了|未了"},
    {RP_PHRASE_CONDITION, "もし|たら|れば|場合|とき|次第"},
    {RP_PHRASE_BREAK, "しかし|でも|けど|だが"},
    {RP_PHRASE_AND, "と"},
    {RP_PHRASE_SUBJECT, "私"},
    {RP_PHRASE_FILLER, "タスク|は|が|を|も"},
    /* Korean */
    {RP_PHRASE_DONE, "완료|끝났|끝냈|마쳤|닫았|닫혔|병합됐|병합했|해결됐"},
    {RP_PHRASE_DENIES,
     "안 |않|못|아직|거의|예정|해야|하세요|주세요|까지|미완료|완료할|완료하|완료해|완료될|완료되지|나요|습니까|까요|"
     "필요|진행 중|진행중"},
    {RP_PHRASE_DONE, "완료했|완료하였"},
    {RP_PHRASE_CONDITION, "만약|되면|하면|나면|내면|때까지"},
    {RP_PHRASE_BREAK, "하지만|그러나|지만"},
    {RP_PHRASE_AND, "와|과|그리고"},
    {RP_PHRASE_FILLER, "작업|은|는|이|가|을|를|도"},
};

/* The capitals and small letters of one alphabet begin with the same byte, but for half of the Cyrillic ones. */
static unsigned char bucket(char first)
{
  return (unsigned char)first == 0xd1 ? 0xd0 : (unsigned char)rp__ascii_lower(first);
}

void rp__phrases_init(struct rp__phrases *ret)
{
  static const struct {
    const struct row *v;
    size_t n;
  } tables[] = {{spaced, RP_ARRAY_SIZE(spaced)}, {joined, RP_ARRAY_SIZE(joined)}};
  memset(ret->first, -1, sizeof ret->first);
  ret->n = 0;
  for (size_t t = 0; t < RP_ARRAY_SIZE(tables); t++) {
    for (size_t i = 0; i < tables[t].n; i++) {
      for (const char *p = tables[t].v[i].phrases; *p;) {
        size_t n = strcspn(p, "|");
        assert(ret->n < RP_PHRASES_MAX);
        int16_t *first = &ret->first[bucket(*p)];
        ret->v[ret->n] = (struct rp__listed){{p, n}, tables[t].v[i].kind, t == 0, *first};
        *first = (int16_t)ret->n++;
        p += n + (p[n] == '|');
      }
    }
  }
}

struct rp__phrase rp__phrase_at(const struct rp__phrases *in, struct rp__str text, size_t at)
{
  struct rp__phrase best = {0};
  for (int i = in->first[bucket(text.p[at])]; i >= 0; i = in->v[i].next) {
    const struct rp__listed *l = &in->v[i];
    if (l->text.n < best.n || !rp__text_begins(text, at, l->text)) continue;
    if (!l->whole || rp__text_bound(text, at + l->text.n)) best = (struct rp__phrase){l->kind, l->text.n};
  }
  return best;
}
